-- 004_customers: crm.customers with a composite primary key of region and account number.
-- Each sales region numbers its own accounts, so neither part is unique alone.

begin;

create table crm.customers (
    region_code          char(3)     not null,
    account_no           integer     not null check (account_no > 0),
    display_name         text        not null,
    contact_email        citext,
    billing_customer_id  uuid,
    owner_desk           text        not null,
    deleted_at           timestamptz,
    -- audit columns
    created_at           timestamptz not null default now(),
    created_by           text        not null,
    updated_at           timestamptz not null default now(),
    updated_by           text        not null,
    primary key (region_code, account_no)
) partition by list (region_code);

create table crm.customers_var partition of crm.customers for values in ('VAR');
create table crm.customers_lin partition of crm.customers for values in ('LIN');
create table crm.customers_ebb partition of crm.customers for values in ('EBB');
create table crm.customers_rest partition of crm.customers default;

-- Soft delete: readers use the view, the table is for the writer.
create view crm.active_customers as
    select * from crm.customers where deleted_at is null;

create index customers_email on crm.customers (contact_email) where deleted_at is null;

create table crm.contact_merges (
    old_region   char(3)     not null,
    old_account  integer     not null,
    new_region   char(3)     not null,
    new_account  integer     not null,
    merged_by    text        not null,
    merged_at    timestamptz not null default now(),
    primary key (old_region, old_account),
    foreign key (new_region, new_account) references crm.customers (region_code, account_no)
);

commit;
