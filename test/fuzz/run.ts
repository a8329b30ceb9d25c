// `npm run fuzz`: sends a service any number of broken and unbroken requests.
//   npm run fuzz -- --inputs 1000000 --seed 7            on SQLite
//   npm run fuzz -- --inputs 100000 --engine postgres    on a PostgreSQL that it starts
//   npm run fuzz -- --seed 7 --only 1234                 one conversation again, as a failure names it
import { engines } from '../harness/engines.ts'
import { startPostgres } from '../harness/postgres.ts'
import { readOptions } from '../harness/script-options.ts'
import { fuzz } from './campaign.ts'
import { Target } from './target.ts'
import type { Measured } from './target-service.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    engine: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
  },
})
const number = (name: 'inputs' | 'seed' | 'only'): number => {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} is a whole number`)
  return value
}
const engine = engines.find(({ name }) => name === values.engine)
if (!engine) throw new Error('--engine is sqlite or postgres')

const seed = number('seed')
const only = values.only === undefined ? {} : { first: number('only'), inputs: 1 }
const server = engine.name === 'postgres' ? await startPostgres() : undefined
if (server) process.env['TEST_DATABASE_URL'] = server.url
const database = await engine.createDatabase()
const target = await Target.start(database.url)
const megabytes = (bytes: number): number => Math.round(bytes / 1e6)
try {
  const options = { seed, inputs: number('inputs'), ...only }
  const onProgress = (inputs: number, { resident, held, files }: Measured): void =>
    console.log(
      `${new Date().toISOString()} ${inputs} inputs; ${megabytes(resident)} MB resident, ${megabytes(held)} MB held, ${files} files`,
    )
  const campaign = await fuzz(target, { ...options, onProgress })
  console.log(JSON.stringify({ engine: engine.name, seed, ...campaign }, undefined, 2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await target.stop()
  await database.drop()
  await server?.stop()
}
