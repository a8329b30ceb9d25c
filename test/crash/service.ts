// A whole service in a process of its own, to be killed by campaign.ts at any moment.
import { readEnvironment } from '../../src/config/environment.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { receiving } from './handlers.ts'

const configuration = readEnvironment(process.env)
const service = await startService({ configuration, log: createLog('fatal'), config: { receiving } })
process.send?.({ baseUrl: service.baseUrl })
// The parent, which would kill it, has ended.
process.once('disconnect', () => process.exit())
