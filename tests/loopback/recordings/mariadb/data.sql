/*M!999999\- enable the sandbox mode */ 
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `ACL` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `model` varchar(512) DEFAULT NULL,
  `property` varchar(512) DEFAULT NULL,
  `accessType` varchar(512) DEFAULT NULL,
  `permission` varchar(512) DEFAULT NULL,
  `principalType` varchar(512) DEFAULT NULL,
  `principalId` varchar(512) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `AccessToken` (
  `id` varchar(255) NOT NULL,
  `ttl` int(11) DEFAULT NULL,
  `scopes` text DEFAULT NULL,
  `created` datetime DEFAULT NULL,
  `userId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `AccessToken` (`id`, `ttl`, `scopes`, `created`, `userId`) VALUES ('BE67AOtbbUfxSYfy4gBje9KzMpzIC6x2aeA8H4nynnq4xabJ3AWdOgF4jpDzsFV7',1209600,NULL,'2026-11-23 22:27:34',2);
INSERT INTO `AccessToken` (`id`, `ttl`, `scopes`, `created`, `userId`) VALUES ('boCCNVClX60L5PaRtFABSRmOh6ZIYgTaoDgVeLDy1LH5hckHby9JNeTsckoC6soQ',1209600,NULL,'2026-11-23 22:27:34',1);
INSERT INTO `AccessToken` (`id`, `ttl`, `scopes`, `created`, `userId`) VALUES ('QdIM8aXCtNQjxwGtCEXBVREDFx9O9Ygb3Y7kQ5lxY5zWBjtMshR3MXzOD6TsndIt',86400,NULL,'2026-11-23 22:27:34',3);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Category` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Category` (`id`, `name`) VALUES (1,'Garden');
INSERT INTO `Category` (`id`, `name`) VALUES (2,'Metal');
INSERT INTO `Category` (`id`, `name`) VALUES (3,'Wood');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Loan` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `days` int(11) DEFAULT NULL,
  `lent` datetime DEFAULT NULL,
  `returned` datetime DEFAULT NULL,
  `toolId` int(11) DEFAULT NULL,
  `memberId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Loan` (`id`, `days`, `lent`, `returned`, `toolId`, `memberId`) VALUES (1,7,'2026-11-23 22:27:35',NULL,1,3);
INSERT INTO `Loan` (`id`, `days`, `lent`, `returned`, `toolId`, `memberId`) VALUES (2,1,'2026-11-23 22:27:35','2026-11-23 22:27:35',3,2);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Manual` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `title` varchar(512) NOT NULL,
  `pages` int(11) DEFAULT NULL,
  `toolId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Manual` (`id`, `title`, `pages`, `toolId`) VALUES (1,'Sawing',12,1);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Member` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  `phone` varchar(512) DEFAULT NULL,
  `newsletter` tinyint(1) DEFAULT NULL,
  `joined` datetime DEFAULT NULL,
  `realm` varchar(512) DEFAULT NULL,
  `username` varchar(512) DEFAULT NULL,
  `password` varchar(512) NOT NULL,
  `email` varchar(512) NOT NULL,
  `emailVerified` tinyint(1) DEFAULT NULL,
  `verificationToken` varchar(512) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Member` (`id`, `name`, `phone`, `newsletter`, `joined`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (1,'Libby',NULL,0,'2026-11-23 22:27:34',NULL,NULL,'$2a$10$elVuKPnAZeORgNs909ViCeTjbndL51B5FG.PsHbVxxnoKJ02U0Jr.','librarian@example.com',NULL,NULL);
INSERT INTO `Member` (`id`, `name`, `phone`, `newsletter`, `joined`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (2,'Ada','030 123',1,'2026-11-23 22:27:34',NULL,NULL,'$2a$10$eCbdULiyH6.j0LrOwCFO2uEgW1QVMnh9i4D9edXEy.9JTrJykVZfO','ada@example.com',NULL,NULL);
INSERT INTO `Member` (`id`, `name`, `phone`, `newsletter`, `joined`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (3,'Grace',NULL,0,'2019-05-04 00:00:00',NULL,NULL,'$2a$10$ozSNE1K8UOJ5jpkEDkOCmOgYKH5nOGT3sd6n./Tx7.1JElWIY1Bce','Grace@Example.com',NULL,NULL);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Picture` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `file` varchar(512) NOT NULL,
  `subjectId` int(11) DEFAULT NULL,
  `subjectType` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `subjectId` (`subjectId`),
  KEY `subjectType` (`subjectType`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Picture` (`id`, `file`, `subjectId`, `subjectType`) VALUES (1,'saw.png',1,'Tool');
INSERT INTO `Picture` (`id`, `file`, `subjectId`, `subjectType`) VALUES (2,'ada.png',2,'Member');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Role` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  `description` varchar(512) DEFAULT NULL,
  `created` datetime DEFAULT NULL,
  `modified` datetime DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Role` (`id`, `name`, `description`, `created`, `modified`) VALUES (1,'librarian',NULL,'2026-11-23 22:27:34','2026-11-23 22:27:34');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `RoleMapping` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `principalType` varchar(512) DEFAULT NULL,
  `principalId` varchar(255) DEFAULT NULL,
  `roleId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `principalId` (`principalId`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `RoleMapping` (`id`, `principalType`, `principalId`, `roleId`) VALUES (1,'USER','1',1);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Tool` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  `description` varchar(512) DEFAULT NULL,
  `state` varchar(512) DEFAULT NULL,
  `weight` int(11) DEFAULT NULL,
  `tags` text DEFAULT NULL,
  `changed` datetime DEFAULT NULL,
  `ownerId` int(11) DEFAULT NULL,
  `workshopCode` varchar(512) DEFAULT NULL,
  `remarkList` text DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Tool` (`id`, `name`, `description`, `state`, `weight`, `tags`, `changed`, `ownerId`, `workshopCode`, `remarkList`) VALUES (1,'Saw',NULL,'good',1500,'[\"wood\",\"hand\"]','2026-11-23 22:27:35',2,'north','[{\"id\":\"4a50c161bc75aee1a261378f\",\"text\":\"Blunt\"}]');
INSERT INTO `Tool` (`id`, `name`, `description`, `state`, `weight`, `tags`, `changed`, `ownerId`, `workshopCode`, `remarkList`) VALUES (2,'Drill','with bits','worn',2000,NULL,'2026-11-23 22:27:35',2,NULL,'[]');
INSERT INTO `Tool` (`id`, `name`, `description`, `state`, `weight`, `tags`, `changed`, `ownerId`, `workshopCode`, `remarkList`) VALUES (3,'Spade',NULL,'good',NULL,'[]','2026-11-23 22:27:35',3,NULL,'[]');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `ToolCategory` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `toolId` int(11) DEFAULT NULL,
  `categoryId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `ToolCategory` (`id`, `toolId`, `categoryId`) VALUES (1,1,3);
INSERT INTO `ToolCategory` (`id`, `toolId`, `categoryId`) VALUES (2,2,3);
INSERT INTO `ToolCategory` (`id`, `toolId`, `categoryId`) VALUES (3,3,1);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `User` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `realm` varchar(512) DEFAULT NULL,
  `username` varchar(512) DEFAULT NULL,
  `password` varchar(512) NOT NULL,
  `email` varchar(512) NOT NULL,
  `emailVerified` tinyint(1) DEFAULT NULL,
  `verificationToken` varchar(512) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Workshop` (
  `code` varchar(255) NOT NULL,
  `name` varchar(512) NOT NULL,
  `position` point DEFAULT NULL,
  `machines` text DEFAULT NULL,
  `hours` text DEFAULT NULL,
  PRIMARY KEY (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Workshop` (`code`, `name`, `position`, `machines`, `hours`) VALUES ('north','Northern hall',0x000000000101000000CDCCCCCCCCCC2A400000000000404A40,'[\"lathe\",\"band saw\"]','{\"monday\":{\"from\":9,\"to\":18},\"notes\":\"closed in August\"}');
INSERT INTO `Workshop` (`code`, `name`, `position`, `machines`, `hours`) VALUES ('S/2','Southern hall',NULL,NULL,NULL);
