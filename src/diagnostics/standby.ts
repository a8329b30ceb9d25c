import type { Configuration } from '../config/environment.ts'
import { causeInWords } from '../network/cause-in-words.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

type Settings = Partial<Pick<Configuration, 'databaseReplicaUrl' | 'databaseSessionUrl'>>

const about = 'standby'

const askState = `select pg_is_in_recovery() as standby,
  (select has_table_privilege(oid, 'select') from pg_class where oid = to_regclass('continuity')) as readable`
interface State {
  standby: boolean
  /** Null if there is no such table. */
  readable: boolean | null
}

/** Whether lists can be read at DATABASE_REPLICA_URL. How far it is behind only a service that runs can tell. */
export async function checkStandby({ databaseReplicaUrl, databaseSessionUrl }: Settings): Promise<Finding[]> {
  if (databaseReplicaUrl === undefined) return []
  try {
    // The driver is loaded only if it is needed.
    const { askStandby } = await import('../storage/postgres/replica.ts')
    const pooled = databaseSessionUrl !== undefined
    const rows = await askStandby<State>(databaseReplicaUrl, { pooled }, askState)
    const { standby, readable } = rows[0]!
    if (readable === null)
      return [
        fault(
          about,
          'it has no table continuity: it is another database, or has not replayed the migrations',
        ),
      ]
    if (!readable) return [fault(about, 'its user cannot read the tables: lists are read from the primary')]
    return [
      standby
        ? ok(about, 'lists are read from it')
        : warning(
            about,
            'DATABASE_REPLICA_URL leads to a server that is not a standby: lists are read from the primary',
          ),
    ]
  } catch (error) {
    return [
      fault(
        about,
        `DATABASE_REPLICA_URL cannot be used, so lists are read from the primary: ${causeInWords(error)}`,
      ),
    ]
  }
}
