-- 001_users: the sign-in table of IdentityService, auth.customers.
-- The file keeps its first name; the table was renamed from users before the first release.
-- Key: the email address is the natural primary key of the customer table, see ADR 003.

begin;

create extension if not exists citext;
create schema if not exists auth;

create function auth.normalize_email(value citext) returns citext
    language sql immutable strict
    as $$ select normalize(btrim(value::text), NFKC)::citext $$;

create table auth.customers (
    email          citext      primary key check (email = auth.normalize_email(email)),
    password_hash  text        not null,
    mfa_secret     bytea,
    status         text        not null default 'pending'
                               check (status in ('active', 'locked', 'pending')),
    failed_logins  smallint    not null default 0,
    last_login_at  timestamptz,
    -- audit columns
    created_at     timestamptz not null default now(),
    created_by     text        not null,
    updated_at     timestamptz not null default now(),
    updated_by     text        not null
);

-- Child tables follow a change of the address.
create table auth.refresh_tokens (
    token_digest  bytea       primary key,
    email         citext      not null
                              references auth.customers (email)
                              on update cascade on delete cascade,
    family        uuid        not null,
    expires_at    timestamptz not null
);

create index refresh_tokens_expiry on auth.refresh_tokens (expires_at);

create table auth.email_history (
    old_email   citext      primary key,
    new_email   citext      not null references auth.customers (email)
                            on update cascade on delete cascade,
    changed_at  timestamptz not null default now()
);

commit;
