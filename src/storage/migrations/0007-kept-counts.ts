import type { Migration } from '../migrate.ts'

/**
 * The number of users, and how many there are in buckets of about a thousand by id, so that no page counts or skips them all.
 * Triggers note what changes, as inserted rows, so that writers do not wait for each other; a worker folds it in.
 */
export const keptCounts: Migration = {
  number: 7,
  name: 'kept-counts',
  breaking: false,
  sqlite: `
    create table "postern_users_total" (one integer primary key, size integer not null);
    create table "postern_users_buckets" (id integer primary key, k0, size integer not null, unique (k0));
    create table "postern_users_changes" (id integer primary key, k0, size integer not null);
    create trigger "postern_users_inserted" after insert on "users" begin
      insert into "postern_users_changes" (k0, size) values (new."id", 1);
    end;
    create trigger "postern_users_deleted" after delete on "users" begin
      insert into "postern_users_changes" (k0, size) values (old."id", -1);
    end;
    create trigger "postern_users_updated" after update of "id" on "users" when old."id" is not new."id" begin
      insert into "postern_users_changes" (k0, size) values (old."id", -1);
      insert into "postern_users_changes" (k0, size) values (new."id", 1);
    end;
    insert into "postern_users_total" select 1, count(*) from "users";
    insert into "postern_users_buckets" (k0, size) select k0,
      case when rows_there - n < 1000 then rows_there - n else 1000 end
      from (select "id" as k0, row_number() over (order by "id") - 1 as n, count(*) over () as rows_there from "users") as numbered where n % 1000 = 0;
  `,
  postgres: `
    create table "postern_users_total" (one integer primary key, size bigint not null);
    create table "postern_users_buckets" as select "id" as k0, 0::bigint as size from "users" with no data;
    alter table "postern_users_buckets" add primary key (k0), add column id bigserial unique;
    create table "postern_users_changes" as select "id" as k0, 0::integer as size from "users" with no data;
    create function "postern_users_note"() returns trigger language plpgsql as $note$
    begin
      if tg_op = 'INSERT' then
        insert into "postern_users_changes" select "id", 1 from changed_rows;
      elsif tg_op = 'DELETE' then
        insert into "postern_users_changes" select "id", -1 from changed_rows;
      elsif tg_op = 'UPDATE' then
        insert into "postern_users_changes" values (old."id", -1), (new."id", 1);
      else
        lock table "postern_users_changes" in exclusive mode;
        delete from "postern_users_changes";
        delete from "postern_users_buckets";
        update "postern_users_total" set size = 0;
      end if;
      return null;
    end $note$;
    create trigger "postern_users_inserted" after insert on "users" referencing new table as changed_rows for each statement
      execute function "postern_users_note"();
    create trigger "postern_users_deleted" after delete on "users" referencing old table as changed_rows for each statement
      execute function "postern_users_note"();
    create trigger "postern_users_updated" after update of "id" on "users" for each row
      when ((old."id") is distinct from (new."id")) execute function "postern_users_note"();
    create trigger "postern_users_truncated" after truncate on "users" for each statement
      execute function "postern_users_note"();
    insert into "postern_users_total" select 1, count(*) from "users";
    insert into "postern_users_buckets" (k0, size) select k0,
      case when rows_there - n < 1000 then rows_there - n else 1000 end
      from (select "id" as k0, row_number() over (order by "id") - 1 as n, count(*) over () as rows_there from "users") as numbered where n % 1000 = 0;
  `,
}
