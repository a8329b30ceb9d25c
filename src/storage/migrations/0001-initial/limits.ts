import { type EngineSql, postgresTable, tableByKey } from './table.ts'

/**
 * Limits that hold for all processes together (docs/adr/0034-shared-limits.md). On SQLite one process has the file, and counts
 * slots, rates and calls in memory. On PostgreSQL each is taken by a function: it locks, then reads what the process before it
 * wrote, and a caller that stops halfway holds no lock.
 */
export const limits = {
  /**
   * One row for each holder and kind of limited action (test events, replays). The action's transaction writes it.
   * No foreign key: a holder is an owner or a subscriber, by name. See emitting/deliveries/allowances.ts.
   */
  allowances: tableByKey({
    /** The kind of limit and its holder. */
    key: 'sortedText primary key',
    /** When the full allowance is available again. */
    until: 'time not null',
  }),

  /**
   * One row for each handler with a declared concurrency and each process: the slots that the process holds and wants.
   * claimer has no foreign key to claimers: share_handler_slots() deletes the rows of processes that are gone.
   */
  handler_slots: postgresTable({
    /** The type or pattern that the handler was declared for. */
    handler: 'sortedText not null',
    /** The process: its id in `claimers`. */
    claimer: 'integer not null',
    held: 'integer not null',
    wanted: 'integer not null',
    /** When other processes may take the slots, unless the process renews them before. */
    until: 'bigint not null',
    'primary key': '(handler, claimer)',
  }),

  /** One row for each source with a declared rate. take_source_rate() writes it. */
  source_rates: postgresTable({
    source: 'sortedText primary key',
    /** The time of the last change, in milliseconds and fractions. */
    at: 'double not null',
    /** When the full rate is available again, in milliseconds and fractions. */
    until: 'double not null',
  }),

  /** One row for each network or credential with calls in the last two minutes. count_calls() writes it. */
  call_counts: postgresTable({
    /** A hash of the kind of limit and its holder. */
    key: 'sortedText primary key',
    /** Minutes since 1970. */
    minute: 'bigint not null',
    calls: 'integer not null',
    /** Calls in the minute before. */
    before: 'integer not null',
    // For the deletion of old minutes.
    'index call_counts_by_minute': '(minute)',
  }),
}

export const limitsOn: EngineSql = {
  postgres: `
    -- For each handler, the process 'me' keeps 'keeps' of the slots that it holds, and wants 'wants'. All processes may hold
    -- 'most'. Slots that have ended are not kept, such as those of a process that was suspended. Returns the slots that it now
    -- holds, and 'share': what it may use from now on, which is less while another process waits for slots.
    create function share_handler_slots(
      me integer, handlers text[], most integer[], keeps integer[], wants integer[], untils bigint[], moment bigint
    ) returns table (handler text, held integer, share integer, freed boolean) language plpgsql as $$
    #variable_conflict use_column
    declare
      asked record;
      mine integer;
      others integer;
      rivals integer;
      starving boolean;
    begin
      perform pg_advisory_xact_lock(7226, 4);
      delete from handler_slots slot where until <= moment
        or not exists (select from claimers where id = slot.claimer);
      if not exists (select from claimers where id = me) then
        return;
      end if;
      for asked in
        select * from unnest(handlers, most, keeps, wants, untils) as t (handler, most, keeps, wants, until)
      loop
        handler := asked.handler;
        select coalesce(sum(slot.held) filter (where slot.claimer <> me), 0), count(*) filter (where slot.claimer <> me),
            coalesce(bool_or(slot.wanted > slot.held) filter (where slot.claimer <> me), false),
            coalesce(sum(slot.held) filter (where slot.claimer = me), 0)
          into others, rivals, starving, mine
          from handler_slots slot where slot.handler = asked.handler;
        share := case when starving then (asked.most + rivals) / (rivals + 1) else asked.most end;
        held := greatest(least(asked.keeps, mine), least(asked.wants, share, asked.most - others));
        freed := starving and held < mine;
        if held = 0 and asked.wants = 0 then
          delete from handler_slots slot where slot.handler = asked.handler and slot.claimer = me;
        else
          insert into handler_slots as slot (handler, claimer, held, wanted, until)
            values (asked.handler, me, held, asked.wants, asked.until)
            on conflict (handler, claimer) do update
            set held = excluded.held, wanted = excluded.wanted, until = excluded.until;
        end if;
        return next;
      end loop;
    end $$;

    -- Takes up to 'wanted' events of a source's rate. Each costs 'cost' milliseconds, and at most 'credit' milliseconds may be owed.
    -- The time is that of the process whose clock is ahead. A clock that was ahead by more than ten seconds has been set back.
    create function take_source_rate(
      of_source text, wanted integer, cost double precision, credit double precision, moment double precision
    ) returns table (granted integer, owed double precision) language plpgsql as $$
    #variable_conflict use_column
    declare
      rate source_rates;
      present double precision := moment;
    begin
      perform set_config('synchronous_commit', 'off', true);
      select * into rate from source_rates where source = of_source for update;
      if not found then
        insert into source_rates values (of_source, moment, moment) on conflict do nothing;
        select * into rate from source_rates where source = of_source for update;
      end if;
      if rate.at <= moment + 10000 then
        present := greatest(moment, rate.at);
      end if;
      owed := least(credit, greatest(0, rate.until - present));
      granted := least(wanted, floor((credit - owed) / cost + 1e-6)::integer);
      if granted > 0 then
        owed := owed + granted * cost;
        update source_rates set at = present, until = present + owed where source = of_source;
      end if;
      return next;
    end $$;

    -- Counts up to 'wanted' calls of each key, as many as 'most' in a minute allow. The minute is that of the process whose clock
    -- is ahead. A clock that was ahead by more than five minutes has been set back. Keys are locked in their order, so that callers
    -- do not deadlock.
    create function count_calls(keys text[], wanted integer[], most integer[], moment bigint)
    returns table (place bigint, granted integer, calls integer, before integer, passed double precision) language plpgsql as $$
    #variable_conflict use_column
    declare
      asked record;
      kept call_counts;
      this bigint;
      calls_now integer;
      before_now integer;
    begin
      perform set_config('synchronous_commit', 'off', true);
      for asked in
        select * from unnest(keys, wanted, most) with ordinality as t (key, wanted, most, place) order by key collate "C", place
      loop
        place := asked.place;
        this := moment / 60000;
        passed := (moment % 60000) / 60000.0;
        select * into kept from call_counts where key = asked.key for update;
        if not found then
          insert into call_counts values (asked.key, this, 0, 0) on conflict do nothing;
          select * into kept from call_counts where key = asked.key for update;
        end if;
        if kept.minute > this and kept.minute <= this + 5 then
          this := kept.minute;
          passed := 0;
        end if;
        calls_now := case when kept.minute = this then kept.calls else 0 end;
        before_now := case when kept.minute = this then kept.before when kept.minute = this - 1 then kept.calls else 0 end;
        granted := greatest(0, least(asked.wanted, floor(asked.most - before_now * (1 - passed) - calls_now)::integer));
        if granted > 0 then
          calls_now := calls_now + granted;
          update call_counts set minute = this, calls = calls_now, before = before_now where key = asked.key;
        end if;
        calls := calls_now;
        before := before_now;
        return next;
      end loop;
      delete from call_counts where key in (
        select key from call_counts where minute < moment / 60000 - 1 order by minute limit 200 for update skip locked
      );
    end $$;
  `,
}
