CREATE TABLE public.accesstoken (
    id text NOT NULL,
    ttl integer DEFAULT 1209600,
    scopes text,
    created timestamp with time zone,
    userid text
);
CREATE TABLE public.acl (
    model text,
    property text,
    accesstype text,
    permission text,
    principaltype text,
    principalid text,
    id integer NOT NULL
);
CREATE SEQUENCE public.acl_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.acl_id_seq OWNED BY public.acl.id;
CREATE TABLE public.category (
    name text NOT NULL,
    id text NOT NULL
);
CREATE TABLE public.loan (
    days integer,
    lent timestamp with time zone,
    returned timestamp with time zone,
    id text NOT NULL,
    toolid text,
    memberid text
);
CREATE TABLE public.manual (
    title text NOT NULL,
    pages integer,
    id text NOT NULL,
    toolid text
);
CREATE TABLE public.member (
    name text NOT NULL,
    phone text,
    newsletter boolean DEFAULT false,
    joined timestamp with time zone,
    id text NOT NULL,
    realm text,
    username text,
    password text NOT NULL,
    email text NOT NULL,
    emailverified boolean,
    verificationtoken text
);
CREATE TABLE public.picture (
    file text NOT NULL,
    id text NOT NULL,
    subjectid text,
    subjecttype text
);
CREATE TABLE public.role (
    id integer NOT NULL,
    name text NOT NULL,
    description text,
    created timestamp with time zone,
    modified timestamp with time zone
);
CREATE SEQUENCE public.role_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.role_id_seq OWNED BY public.role.id;
CREATE TABLE public.rolemapping (
    id integer NOT NULL,
    principaltype text,
    principalid text,
    roleid integer
);
CREATE SEQUENCE public.rolemapping_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.rolemapping_id_seq OWNED BY public.rolemapping.id;
CREATE TABLE public.tool (
    name text NOT NULL,
    description text,
    state text DEFAULT 'good'::text,
    weight integer,
    tags text,
    changed timestamp with time zone,
    id text NOT NULL,
    ownerid text,
    workshopcode text,
    remarklist text
);
CREATE TABLE public.toolcategory (
    id integer NOT NULL,
    toolid text,
    categoryid text
);
CREATE SEQUENCE public.toolcategory_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.toolcategory_id_seq OWNED BY public.toolcategory.id;
CREATE TABLE public."user" (
    realm text,
    username text,
    password text NOT NULL,
    email text NOT NULL,
    emailverified boolean,
    verificationtoken text,
    id integer NOT NULL
);
CREATE SEQUENCE public.user_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.user_id_seq OWNED BY public."user".id;
CREATE TABLE public.workshop (
    code text NOT NULL,
    name text NOT NULL,
    "position" point,
    machines text,
    hours text
);
ALTER TABLE ONLY public.acl ALTER COLUMN id SET DEFAULT nextval('public.acl_id_seq'::regclass);
ALTER TABLE ONLY public.role ALTER COLUMN id SET DEFAULT nextval('public.role_id_seq'::regclass);
ALTER TABLE ONLY public.rolemapping ALTER COLUMN id SET DEFAULT nextval('public.rolemapping_id_seq'::regclass);
ALTER TABLE ONLY public.toolcategory ALTER COLUMN id SET DEFAULT nextval('public.toolcategory_id_seq'::regclass);
ALTER TABLE ONLY public."user" ALTER COLUMN id SET DEFAULT nextval('public.user_id_seq'::regclass);
INSERT INTO public.accesstoken (id, ttl, scopes, created, userid) VALUES ('o0PBEjBZdvu1DlaYVd3ZRI3XseFJFTXathY0LrmcPNHpeEVV9jJd3Cp3TF7sYjyS', 1209600, NULL, '2026-11-23 22:09:06.503+00', '0ea1970c-cf13-46fb-9c3f-3f106014fd59');
INSERT INTO public.accesstoken (id, ttl, scopes, created, userid) VALUES ('D9QlyVsDkcXNR5ArEguEZ2Qs42ebyUBVHZ10r3q7F8FuQRpyhmGIG6onHTgPqROu', 86400, NULL, '2026-11-23 22:09:06.593+00', 'c32b2104-841b-4149-a99b-bf896779b5fc');
INSERT INTO public.accesstoken (id, ttl, scopes, created, userid) VALUES ('sHG7txqN5TPrUbCJwHyiU6xPF937bVPoUd5r17KKzR7Y2AUx7dFFDdV1D6Ml3bL2', 1209600, NULL, '2026-11-23 22:09:06.699+00', '6eb6a4ef-7092-40af-9d41-92e6c3ea6d6a');
INSERT INTO public.category (name, id) VALUES ('Garden', 'a44800a2-e8c8-4eb5-ab4b-9039ad7c3c90');
INSERT INTO public.category (name, id) VALUES ('Wood', 'd7195873-ef75-4925-9b3c-9160d9e77417');
INSERT INTO public.category (name, id) VALUES ('Metal', '54e716f8-556a-4474-8c7d-8a09e62055f7');
INSERT INTO public.loan (days, lent, returned, id, toolid, memberid) VALUES (7, '2026-11-23 22:09:06.9+00', NULL, '5944aca8-9c51-424d-b136-b259c45cb7a8', '0dcae5c1-15b7-4763-b8dc-9ce609a87be4', 'c32b2104-841b-4149-a99b-bf896779b5fc');
INSERT INTO public.loan (days, lent, returned, id, toolid, memberid) VALUES (1, '2026-11-23 22:09:06.914+00', '2026-11-23 22:09:06.922+00', '277b1832-730c-4163-a55f-3578f4fc3ac9', 'e137fc63-e40e-47e2-8f53-ed9ae5251b9a', '0ea1970c-cf13-46fb-9c3f-3f106014fd59');
INSERT INTO public.manual (title, pages, id, toolid) VALUES ('Sawing', 12, 'a30a5a2d-8160-4099-bf37-9ee8077ff930', '0dcae5c1-15b7-4763-b8dc-9ce609a87be4');
INSERT INTO public.member (name, phone, newsletter, joined, id, realm, username, password, email, emailverified, verificationtoken) VALUES ('Libby', NULL, false, '2026-11-23 22:09:06.137+00', '6eb6a4ef-7092-40af-9d41-92e6c3ea6d6a', NULL, NULL, '$2a$10$SaP2fLVfgOQq2sWOzpsPleDFHQK.pEFyQ2yxxaMg4z.701RFnztmG', 'librarian@example.com', NULL, NULL);
INSERT INTO public.member (name, phone, newsletter, joined, id, realm, username, password, email, emailverified, verificationtoken) VALUES ('Ada', '030 123', true, '2026-11-23 22:09:06.285+00', '0ea1970c-cf13-46fb-9c3f-3f106014fd59', NULL, NULL, '$2a$10$CaYrAWrCT/a/mqiNGJ5T4ONxkVSxHuYNOKa7GZNalXZUSlEQ9unO6', 'ada@example.com', NULL, NULL);
INSERT INTO public.member (name, phone, newsletter, joined, id, realm, username, password, email, emailverified, verificationtoken) VALUES ('Grace', NULL, false, '2019-05-04 00:00:00+00', 'c32b2104-841b-4149-a99b-bf896779b5fc', NULL, NULL, '$2a$10$gpXFRPlX6FdGTCH50IQsierVRcXBgjIFZVL3tx6EHz9PWLUEj3Fsm', 'Grace@Example.com', NULL, NULL);
INSERT INTO public.picture (file, id, subjectid, subjecttype) VALUES ('saw.png', 'dfbb9d9c-dbe2-486e-bea6-ff3a74cfea02', '0dcae5c1-15b7-4763-b8dc-9ce609a87be4', 'Tool');
INSERT INTO public.picture (file, id, subjectid, subjecttype) VALUES ('ada.png', '2b4d7613-bb03-43ec-99c8-ba6562edf2be', '0ea1970c-cf13-46fb-9c3f-3f106014fd59', 'Member');
INSERT INTO public.role (id, name, description, created, modified) VALUES (1, 'librarian', NULL, '2026-11-23 22:09:06.147+00', '2026-11-23 22:09:06.147+00');
INSERT INTO public.rolemapping (id, principaltype, principalid, roleid) VALUES (1, 'USER', '6eb6a4ef-7092-40af-9d41-92e6c3ea6d6a', 1);
INSERT INTO public.tool (name, description, state, weight, tags, changed, id, ownerid, workshopcode, remarklist) VALUES ('Drill', 'with bits', 'worn', 2000, NULL, '2026-11-23 22:09:06.772+00', '181cc3b8-1072-4fd5-af04-62853164e21d', '0ea1970c-cf13-46fb-9c3f-3f106014fd59', NULL, '[]');
INSERT INTO public.tool (name, description, state, weight, tags, changed, id, ownerid, workshopcode, remarklist) VALUES ('Spade', NULL, 'good', NULL, '[]', '2026-11-23 22:09:06.784+00', 'e137fc63-e40e-47e2-8f53-ed9ae5251b9a', 'c32b2104-841b-4149-a99b-bf896779b5fc', NULL, '[]');
INSERT INTO public.tool (name, description, state, weight, tags, changed, id, ownerid, workshopcode, remarklist) VALUES ('Saw', NULL, 'good', 1500, '["wood","hand"]', '2026-11-23 22:09:06.86+00', '0dcae5c1-15b7-4763-b8dc-9ce609a87be4', '0ea1970c-cf13-46fb-9c3f-3f106014fd59', 'north', '[{"id":"cdd336cfd34a0d3732c9879d","text":"Blunt"}]');
INSERT INTO public.toolcategory (id, toolid, categoryid) VALUES (1, '0dcae5c1-15b7-4763-b8dc-9ce609a87be4', 'd7195873-ef75-4925-9b3c-9160d9e77417');
INSERT INTO public.toolcategory (id, toolid, categoryid) VALUES (2, '181cc3b8-1072-4fd5-af04-62853164e21d', 'd7195873-ef75-4925-9b3c-9160d9e77417');
INSERT INTO public.toolcategory (id, toolid, categoryid) VALUES (3, 'e137fc63-e40e-47e2-8f53-ed9ae5251b9a', 'a44800a2-e8c8-4eb5-ab4b-9039ad7c3c90');
INSERT INTO public.workshop (code, name, "position", machines, hours) VALUES ('north', 'Northern hall', '(13.4,52.5)', '["lathe","band saw"]', '{"monday":{"from":9,"to":18},"notes":"closed in August"}');
INSERT INTO public.workshop (code, name, "position", machines, hours) VALUES ('S/2', 'Southern hall', NULL, NULL, NULL);
SELECT pg_catalog.setval('public.acl_id_seq', 1, false);
SELECT pg_catalog.setval('public.role_id_seq', 1, true);
SELECT pg_catalog.setval('public.rolemapping_id_seq', 1, true);
SELECT pg_catalog.setval('public.toolcategory_id_seq', 3, true);
SELECT pg_catalog.setval('public.user_id_seq', 1, false);
ALTER TABLE ONLY public.accesstoken
    ADD CONSTRAINT accesstoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.acl
    ADD CONSTRAINT acl_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.loan
    ADD CONSTRAINT loan_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.manual
    ADD CONSTRAINT manual_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.member
    ADD CONSTRAINT member_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.picture
    ADD CONSTRAINT picture_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.role
    ADD CONSTRAINT role_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rolemapping
    ADD CONSTRAINT rolemapping_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tool
    ADD CONSTRAINT tool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.toolcategory
    ADD CONSTRAINT toolcategory_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public."user"
    ADD CONSTRAINT user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workshop
    ADD CONSTRAINT workshop_pkey PRIMARY KEY (code);
CREATE INDEX picture_subjectid_idx ON public.picture USING btree (subjectid);
CREATE INDEX picture_subjecttype_idx ON public.picture USING btree (subjecttype);
CREATE INDEX rolemapping_principalid_idx ON public.rolemapping USING btree (principalid);
