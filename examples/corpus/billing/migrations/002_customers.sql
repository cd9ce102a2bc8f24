-- 002_customers: billing.customers moves from a sequence to a UUID primary key, see ADR 007.
-- The values are UUID version 7 and come from InvoiceService; there is no default on purpose.

begin;

alter table billing.customers rename to customers_old;

create table billing.customers (
    customer_id         uuid        primary key,
    customer_no         text        not null unique,
    legal_name          text        not null,
    vat_id              text,
    billing_address_id  uuid        references billing.addresses (address_id),
    payment_terms_days  smallint    not null default 14
                                    check (payment_terms_days in (0, 14, 30)),
    closed_at           timestamptz,
    -- audit columns
    created_at          timestamptz not null default now(),
    created_by          text        not null,
    updated_at          timestamptz not null default now(),
    updated_by          text        not null
);

insert into billing.customers
select m.customer_id, o.customer_no::text, o.legal_name, o.vat_id, o.billing_address_id,
       o.payment_terms_days, o.closed_at, o.created_at, 'migration:002', now(), 'migration:002'
  from billing.customers_old o
  join billing.customer_id_map m using (customer_no);

-- Invoices of closed customers must still find their row: closing sets closed_at, no row goes.
create index customers_open on billing.customers (legal_name) where closed_at is null;

alter table billing.invoices
    add constraint invoices_customer_fk
    foreign key (customer_id) references billing.customers (customer_id);

commit;
