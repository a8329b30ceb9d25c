import type { Migration } from '../migrate.ts'

/**
 * Notes users that `INSERT OR REPLACE` and `UPDATE OR REPLACE` of SQLite put another one in the place of: no delete trigger
 * runs for them. Those who may be replaced are remembered before a change; who is gone after it is noted.
 */
export const replacedRows: Migration = {
  number: 11,
  name: 'replaced-rows',
  breaking: false,
  sqlite: `
    create table "postern_users_replaced" (k0);
    drop trigger "postern_users_inserted";
    drop trigger "postern_users_deleted";
    create trigger "postern_users_inserting" before insert on "users" begin
      delete from "postern_users_replaced" where true;
      insert into "postern_users_replaced" select "id" from "users" where "id" = new."id" collate "BINARY";
    end;
    create trigger "postern_users_inserted" after insert on "users" begin
      insert into "postern_users_changes" (k0, size) select k0, -1 from "postern_users_replaced"
        where k0 = new."id" or not exists (select 1 from "users" where "id" = k0);
      delete from "postern_users_replaced" where true;
      insert into "postern_users_changes" (k0, size) values (new."id", 1);
    end;
    create trigger "postern_users_deleted" after delete on "users" begin
      delete from "postern_users_replaced" where k0 = old."id";
      insert into "postern_users_changes" (k0, size) values (old."id", -1);
    end;
    create trigger "postern_users_updating" before update of "id" on "users" begin
      delete from "postern_users_replaced" where true;
      insert into "postern_users_replaced" select "id" from "users" where "id" = new."id" collate "BINARY" and "id" <> old."id";
    end;
    create trigger "postern_users_replacing" after update of "id" on "users" begin
      insert into "postern_users_changes" (k0, size) select k0, -1 from "postern_users_replaced"
        where k0 = new."id" or not exists (select 1 from "users" where "id" = k0);
      delete from "postern_users_replaced" where true;
    end;
  `,
  // PostgreSQL has no statement that deletes rows unseen by triggers, but for TRUNCATE, which has one of its own.
  postgres: `select 1`,
}
