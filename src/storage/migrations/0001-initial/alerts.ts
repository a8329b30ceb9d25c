import { type EngineSql, table, tableByKey, typed } from './table.ts'

/** Alerts: destinations, what they were told, and their messages (docs/adr/0047-alerts.md). */
export const alerts = {
  /** One row for each destination, such as a mail address or a Slack channel. Admins insert and delete it. */
  alert_destinations: table({
    id: 'sortedText primary key',
    kind: typed<'email' | 'slack' | 'discord' | 'teams'>('text not null'),
    name: 'text not null',
    /** Sealed JSON: `{"url":…}` or `{"to":[…]}`. The address of an incoming webhook is a credential. */
    target: 'bytes not null',
    /** JSON: the kinds of conditions; null for all. */
    conditions: 'text',
    /** The least severity. */
    severity: typed<'warning' | 'error'>('text not null'),
    /** Milliseconds after which a condition that lasts is sent again; null: never. */
    repeat_ms: 'bigint',
    enabled: 'integer not null',
    created_at: 'time not null',
    updated_at: 'time not null',
    // For values that a start cannot open, as in provider_tokens.
    'index alert_destinations_target_master_key': '(substr(target, 2, 4))',
  }),

  /** One row for each condition that a destination was told of. The end of the condition deletes it. */
  alert_states: tableByKey({
    destination_id: 'sortedText not null references alert_destinations (id) on delete cascade',
    /** Kind and subject. */
    condition: 'sortedText not null',
    /** As the last message about it told it. */
    severity: typed<'warning' | 'error'>('text not null'),
    text: 'text not null',
    path: 'text not null',
    since: 'time',
    /** When the last message about it was written. */
    told_at: 'time not null',
    /** Since when the condition is gone; null while it lasts. */
    gone_since: 'time',
    'primary key': '(destination_id, condition)',
  }),

  /**
   * One row for each message. The evaluation inserts it in the transaction that changes the states; the process that sends it
   * updates it. Deleted 30 days later.
   */
  alert_sendings: table({
    id: 'sortedText primary key',
    destination_id: 'sortedText not null references alert_destinations (id) on delete cascade',
    what: typed<'opened' | 'repeated' | 'resolved' | 'test'>('text not null'),
    subject: 'text not null',
    /** JSON: the conditions of the message. */
    lines: 'text not null',
    status: typed<'pending' | 'sent' | 'failed'>('text not null'),
    attempts: 'integer not null default 0',
    due_at: 'time not null',
    error: 'text',
    created_at: 'time not null',
    finished_at: 'time',
    // For the messages of a destination, newest first, and the cascade.
    'index alert_sendings_of_destination': '(destination_id, id)',
    // For the deletion of old messages.
    'index alert_sendings_by_time': '(created_at)',
    // For the next message to send.
    'index alert_sendings_due': "(due_at) where status = 'pending'",
  }),

  /** One row: when the next process evaluates the conditions. The process that updates it does so until then. */
  alert_rounds: table({
    one: 'integer primary key check (one = 1)',
    due_at: 'time not null',
  }),
}

const firstRound = 'insert into alert_rounds (one, due_at) values (1, 0);'
export const alertsOn: EngineSql = { sqlite: firstRound, postgres: firstRound }
