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
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Customer` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  `phone` varchar(512) DEFAULT NULL,
  `realm` varchar(512) DEFAULT NULL,
  `username` varchar(512) DEFAULT NULL,
  `password` varchar(512) NOT NULL,
  `email` varchar(512) NOT NULL,
  `emailVerified` tinyint(1) DEFAULT NULL,
  `verificationToken` varchar(512) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Customer` (`id`, `name`, `phone`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (1,'Bob',NULL,NULL,NULL,'$2a$10$b.NTk2spKqQO.QYZjV/zeeJYbgPLJLIgrhoaBWFjCNiat2hrEmrX6','bob@example.com',NULL,NULL);
INSERT INTO `Customer` (`id`, `name`, `phone`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (2,'Ada','030 123',NULL,NULL,'$2a$10$4IGIxLX28WMvJACZBLaJUeOVUz13i.emAeVcwsS7YGAF0n6pfAnza','ada@example.com',NULL,NULL);
INSERT INTO `Customer` (`id`, `name`, `phone`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (3,'Cyd',NULL,NULL,NULL,'$2a$10$fCotjJ1rSPr5cjXg5Zh6jOx1ZxMHHRdko4CAD19j0me74OAxg0kVi','cyd@example.com',NULL,NULL);
INSERT INTO `Customer` (`id`, `name`, `phone`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`) VALUES (4,'Dan',NULL,NULL,NULL,'$2a$10$1P3mw421HidREFcLmcnH.uXG/inVgi4E8.bci3wvFPJQWt8dm2PmC','dan@example.com',NULL,NULL);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Order` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `total` int(11) NOT NULL,
  `state` varchar(512) DEFAULT NULL,
  `customerId` int(11) DEFAULT NULL,
  `clerkId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Order` (`id`, `total`, `state`, `customerId`, `clerkId`) VALUES (1,13,'open',1,NULL);
INSERT INTO `Order` (`id`, `total`, `state`, `customerId`, `clerkId`) VALUES (2,30,'open',2,2);
INSERT INTO `Order` (`id`, `total`, `state`, `customerId`, `clerkId`) VALUES (3,7,'open',3,NULL);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Remark` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `text` varchar(512) NOT NULL,
  `authorId` int(11) DEFAULT NULL,
  `authorType` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `authorId` (`authorId`),
  KEY `authorType` (`authorType`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Remark` (`id`, `text`, `authorId`, `authorType`) VALUES (1,'Fresh',2,'Customer');
INSERT INTO `Remark` (`id`, `text`, `authorId`, `authorType`) VALUES (2,'Sold out',2,'Staff');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Role` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  `description` varchar(512) DEFAULT NULL,
  `created` datetime DEFAULT NULL,
  `modified` datetime DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Role` (`id`, `name`, `description`, `created`, `modified`) VALUES (1,'chief',NULL,'2026-11-28 13:26:19','2026-11-28 13:26:19');
INSERT INTO `Role` (`id`, `name`, `description`, `created`, `modified`) VALUES (2,'regular',NULL,'2026-11-28 13:26:19','2026-11-28 13:26:19');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `RoleMapping` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `principalType` varchar(512) DEFAULT NULL,
  `principalId` varchar(255) DEFAULT NULL,
  `roleId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `principalId` (`principalId`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `RoleMapping` (`id`, `principalType`, `principalId`, `roleId`) VALUES (1,'Staff','1',1);
INSERT INTO `RoleMapping` (`id`, `principalType`, `principalId`, `roleId`) VALUES (2,'Customer','1',2);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Session` (
  `id` varchar(255) NOT NULL,
  `ttl` int(11) DEFAULT NULL,
  `scopes` text DEFAULT NULL,
  `created` datetime DEFAULT NULL,
  `userId` varchar(255) DEFAULT NULL,
  `principalType` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `userId` (`userId`),
  KEY `principalType` (`principalType`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('0LRkTyswjGnuMyFMjy740jUE3ilnDu1x7IGQGWzFypVjZKAu2uCjSJzBNsVHjU0H',1209600,NULL,'2026-11-28 13:26:28','3','Staff');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('0wdoUTf62JjHVWbvLFfBZ2VQdqAii5gAws6rkujigBRRIREpTWbABnt6keM4Uuv2',1209600,NULL,'2026-11-28 13:26:21','1','Customer');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('9MJJY8Je9AFnBjvcN6g41TFt1KOUkQV2V8LNBph0KaWNRpfH85B4wHCp2IpNd5rl',1209600,NULL,'2026-11-28 13:26:27','3','Customer');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('ECvC5tEaaLNUfosFAHgK0bSWGIc4uYeSD6Lw4JOqVQ40tvp3rvPUPkxulkcpbAJJ',86400,NULL,'2026-11-28 13:26:25','2','Customer');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('NrazlnRUZWANYojjEf3TDYIqmX3BszNchI6qWUaUnIBR5Wt4BDYz5SRR6lLF7Rja',1209600,NULL,'2026-11-28 13:26:26','2','Staff');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('pEZU9eTASj4WG8eWnLjbHW1krjoY11wRGuCajZ5d6me3g5LOTz6b7PDAVqMvLKF9',1209600,NULL,'2026-11-28 13:26:20','1','Staff');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('wAPCxCUyuhMrafOlk3SFe9ffEPfma4UuMH3XhJZNsIsgjZCGHfACobOlZWh2M0h3',1209600,NULL,'2026-11-28 13:26:26','2','Staff');
INSERT INTO `Session` (`id`, `ttl`, `scopes`, `created`, `userId`, `principalType`) VALUES ('YT2Ecj0AH2H7GchVrb9fFtzVZT97NOwGFiY0YLD6Ux2uvxIsRMaTvnXAvTfxQhQx',1209600,NULL,'2026-11-28 13:26:24','2','Customer');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Shift` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `day` varchar(512) NOT NULL,
  `staffId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Shift` (`id`, `day`, `staffId`) VALUES (1,'Monday',2);
INSERT INTO `Shift` (`id`, `day`, `staffId`) VALUES (2,'Friday',3);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Staff` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(512) NOT NULL,
  `badge` varchar(512) DEFAULT NULL,
  `realm` varchar(512) DEFAULT NULL,
  `username` varchar(512) DEFAULT NULL,
  `password` varchar(512) NOT NULL,
  `email` varchar(512) NOT NULL,
  `emailVerified` tinyint(1) DEFAULT NULL,
  `verificationToken` varchar(512) DEFAULT NULL,
  `bossId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Staff` (`id`, `name`, `badge`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`, `bossId`) VALUES (1,'Chief','1',NULL,NULL,'$2a$10$wpvryvGzvTafeayI9fF8mOvf47PB3k1dN/jBL3V3CExpKAnOu3Fxi','chief@example.com',NULL,NULL,NULL);
INSERT INTO `Staff` (`id`, `name`, `badge`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`, `bossId`) VALUES (2,'Ada','7',NULL,NULL,'$2a$10$NInJ27TjxkWJUmKfz8QlgedKaOJuavuidTwVcjbLkIn/RsXZRQrre','ada@example.com',NULL,NULL,3);
INSERT INTO `Staff` (`id`, `name`, `badge`, `realm`, `username`, `password`, `email`, `emailVerified`, `verificationToken`, `bossId`) VALUES (3,'Eve',NULL,NULL,NULL,'$2a$10$u./OAN5YxWi9arO7QwIRg.fez1wJYcpI6IKev9JBn6vEr5rAbjZiG','eve@example.com',NULL,NULL,1);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `Ticket` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `text` varchar(512) NOT NULL,
  `customerId` int(11) DEFAULT NULL,
  `staffId` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `Ticket` (`id`, `text`, `customerId`, `staffId`) VALUES (1,'Late',2,3);
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
