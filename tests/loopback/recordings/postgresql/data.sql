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
INSERT INTO public.accesstoken (id, ttl, scopes, created, userid) VALUES ('gU7BZJ9kPm0Y8d2CbQ78Ptw6GbUJ57wI45ltwkEaIkLVXHtfkSGKOapAaJOUA0qt', 1209600, NULL, '2026-11-23 22:27:26.779+00', '6b34afa6-4958-4259-ac5b-305d04dd2699');
INSERT INTO public.accesstoken (id, ttl, scopes, created, userid) VALUES ('bpUjtz1hRBFT3UIles70OWzzhRVJ1vNV38jq1CXIltkAvULCc0qVNwSgpcBZrEGy', 86400, NULL, '2026-11-23 22:27:26.86+00', 'de019559-188b-4e43-8e2f-4d5cb1d28ab2');
INSERT INTO public.accesstoken (id, ttl, scopes, created, userid) VALUES ('DSigKroGJAStMRmhgYNfpmV95kTEIzCQozkIi5qAlURuU6GnTvqTpAV1xBJYtUf3', 1209600, NULL, '2026-11-23 22:27:26.948+00', 'e5e14d1a-40fd-40fb-b275-0cc065855543');
INSERT INTO public.category (name, id) VALUES ('Garden', 'd471758c-aadd-44bd-a876-7b813057ea1a');
INSERT INTO public.category (name, id) VALUES ('Wood', '4b31246c-7522-4c21-8404-31b4edc0673c');
INSERT INTO public.category (name, id) VALUES ('Metal', '9e07ae1a-3594-46be-a94f-e2fa782fca34');
INSERT INTO public.loan (days, lent, returned, id, toolid, memberid) VALUES (7, '2026-11-23 22:27:27.06+00', NULL, 'b9102a50-ae0d-4bde-83c7-a48d3f21b17a', '44f78147-29f9-400f-bbbe-b8a2b3e368ab', 'de019559-188b-4e43-8e2f-4d5cb1d28ab2');
INSERT INTO public.loan (days, lent, returned, id, toolid, memberid) VALUES (1, '2026-11-23 22:27:27.068+00', '2026-11-23 22:27:27.074+00', '5034ae47-6aa6-4615-a293-ae760b5373ec', '7aa7d0e6-ea3e-4c22-882f-49fcbdf219c0', '6b34afa6-4958-4259-ac5b-305d04dd2699');
INSERT INTO public.manual (title, pages, id, toolid) VALUES ('Sawing', 12, '2f0e3f8a-1387-4f34-8e57-cc468e44339a', '44f78147-29f9-400f-bbbe-b8a2b3e368ab');
INSERT INTO public.member (name, phone, newsletter, joined, id, realm, username, password, email, emailverified, verificationtoken) VALUES ('Libby', NULL, false, '2026-11-23 22:27:26.454+00', 'e5e14d1a-40fd-40fb-b275-0cc065855543', NULL, NULL, '$2a$10$i1hugTpK8RRW9T0xbrk2wellcFYqhUHE5bCCunjCSwgAQvuZxOyLS', 'librarian@example.com', NULL, NULL);
INSERT INTO public.member (name, phone, newsletter, joined, id, realm, username, password, email, emailverified, verificationtoken) VALUES ('Ada', '030 123', true, '2026-11-23 22:27:26.587+00', '6b34afa6-4958-4259-ac5b-305d04dd2699', NULL, NULL, '$2a$10$6vipU7D40AwasS2WP.YZSOhFvK1rcrU7DIOvu.lz6IaV7mPy1KCyy', 'ada@example.com', NULL, NULL);
INSERT INTO public.member (name, phone, newsletter, joined, id, realm, username, password, email, emailverified, verificationtoken) VALUES ('Grace', NULL, false, '2019-05-04 00:00:00+00', 'de019559-188b-4e43-8e2f-4d5cb1d28ab2', NULL, NULL, '$2a$10$t7UgB5Av.HQgN2GomKCHGuOYy1J3/quWn7aS6mTz5JbY8vtogr02m', 'Grace@Example.com', NULL, NULL);
INSERT INTO public.picture (file, id, subjectid, subjecttype) VALUES ('saw.png', 'd0939415-4d25-44b2-bfb8-47390103b79d', '44f78147-29f9-400f-bbbe-b8a2b3e368ab', 'Tool');
INSERT INTO public.picture (file, id, subjectid, subjecttype) VALUES ('ada.png', '41b0d3c3-5527-4909-8d78-fb598d388b22', '6b34afa6-4958-4259-ac5b-305d04dd2699', 'Member');
INSERT INTO public.role (id, name, description, created, modified) VALUES (1, 'librarian', NULL, '2026-11-23 22:27:26.47+00', '2026-11-23 22:27:26.47+00');
INSERT INTO public.rolemapping (id, principaltype, principalid, roleid) VALUES (1, 'USER', 'e5e14d1a-40fd-40fb-b275-0cc065855543', 1);
INSERT INTO public.tool (name, description, state, weight, tags, changed, id, ownerid, workshopcode, remarklist) VALUES ('Drill', 'with bits', 'worn', 2000, NULL, '2026-11-23 22:27:26.987+00', 'bbd067ee-dfc1-4515-afcc-e54c83b64b25', '6b34afa6-4958-4259-ac5b-305d04dd2699', NULL, '[]');
INSERT INTO public.tool (name, description, state, weight, tags, changed, id, ownerid, workshopcode, remarklist) VALUES ('Spade', NULL, 'good', NULL, '[]', '2026-11-23 22:27:26.992+00', '7aa7d0e6-ea3e-4c22-882f-49fcbdf219c0', 'de019559-188b-4e43-8e2f-4d5cb1d28ab2', NULL, '[]');
INSERT INTO public.tool (name, description, state, weight, tags, changed, id, ownerid, workshopcode, remarklist) VALUES ('Saw', NULL, 'good', 1500, '["wood","hand"]', '2026-11-23 22:27:27.038+00', '44f78147-29f9-400f-bbbe-b8a2b3e368ab', '6b34afa6-4958-4259-ac5b-305d04dd2699', 'north', '[{"id":"b1ccbdfa329d6192fd660165","text":"Blunt"}]');
INSERT INTO public.toolcategory (id, toolid, categoryid) VALUES (1, '44f78147-29f9-400f-bbbe-b8a2b3e368ab', '4b31246c-7522-4c21-8404-31b4edc0673c');
INSERT INTO public.toolcategory (id, toolid, categoryid) VALUES (2, 'bbd067ee-dfc1-4515-afcc-e54c83b64b25', '4b31246c-7522-4c21-8404-31b4edc0673c');
INSERT INTO public.toolcategory (id, toolid, categoryid) VALUES (3, '7aa7d0e6-ea3e-4c22-882f-49fcbdf219c0', 'd471758c-aadd-44bd-a876-7b813057ea1a');
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
