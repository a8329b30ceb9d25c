import type { SchemaPart } from './dialect.ts'

/** Alerts: destinations, what they were told, and their messages (docs/adr/0047-alerts.md). */
export const alerts: SchemaPart = {
  tables: ({ time, bigint, bytes, sortedText, strict, strictByKey }) => `
    -- One row for each destination, such as a mail address or a Slack channel. Admins insert and delete it.
    create table alert_destinations (
      id ${sortedText} primary key, kind text not null, name text not null, target ${bytes} not null,
      conditions text, severity text not null, repeat_ms ${bigint}, enabled integer not null,
      created_at ${time} not null, updated_at ${time} not null
    ) ${strict};
    -- For values that a start cannot open, as in provider_tokens.
    create index alert_destinations_target_master_key on alert_destinations (substr(target, 2, 4));

    -- One row for each condition that a destination was told of. The end of the condition deletes it.
    create table alert_states (
      destination_id ${sortedText} not null references alert_destinations (id) on delete cascade,
      condition ${sortedText} not null, severity text not null, text text not null, path text not null,
      since ${time}, told_at ${time} not null, gone_since ${time}, primary key (destination_id, condition)
    ) ${strictByKey};

    -- One row for each message. The evaluation inserts it in the transaction that changes the states; the process that sends it
    -- updates it. Deleted 30 days later.
    create table alert_sendings (
      id ${sortedText} primary key,
      destination_id ${sortedText} not null references alert_destinations (id) on delete cascade,
      what text not null, subject text not null, lines text not null, status text not null,
      attempts integer not null default 0, due_at ${time} not null, error text,
      created_at ${time} not null, finished_at ${time}
    ) ${strict};
    -- For the messages of a destination, newest first, and the cascade.
    create index alert_sendings_of_destination on alert_sendings (destination_id, id);
    -- For the deletion of old messages.
    create index alert_sendings_by_time on alert_sendings (created_at);
    -- For the next message to send.
    create index alert_sendings_due on alert_sendings (due_at) where status = 'pending';

    -- One row: when the next process evaluates the conditions.
    create table alert_rounds (one integer primary key check (one = 1), due_at ${time} not null) ${strict};
    insert into alert_rounds (one, due_at) values (1, 0);
  `,
}
