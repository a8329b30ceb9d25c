// `npm run fuzz`: sends a service any number of broken and unbroken requests.
//   npm run fuzz -- --inputs 1000000 --seed 7            on SQLite
//   npm run fuzz -- --inputs 100000 --engine postgres    on a PostgreSQL that it starts
//   npm run fuzz -- --seed 7 --only 1234                 one conversation again, as a failure names it
//   npm run fuzz -- --lists --inputs 5000 --seed 7       instead, compares pages of declared lists with a plain evaluation
import { openDatabase } from '../../src/storage/open.ts'
import { engines } from '../harness/engines.ts'
import { startPostgres } from '../harness/postgres.ts'
import { scoped } from '../harness/scoped.ts'
import { readOptions } from '../harness/script-options.ts'
import { compareLists } from '../listing/declared-model.ts'
import { fuzz } from './campaign.ts'
import { Target } from './target.ts'
import type { Measured } from './target-service.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    engine: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    lists: { type: 'boolean' },
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
const server = engine.name === 'postgres' ? await startPostgres() : undefined
if (server) process.env['TEST_DATABASE_URL'] = server.url
const database = await engine.createDatabase()
try {
  if (values.lists === true) await compare()
  else await send()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await database.drop()
  await server?.stop()
}

async function compare(): Promise<void> {
  await using opened = scoped(await openDatabase(database.url))
  const options = {
    seed,
    count: number('inputs'),
    only: values.only === undefined ? undefined : number('only'),
  }
  const combinations = await compareLists(opened, options)
  console.log(JSON.stringify({ engine: engine!.name, seed, combinations }, undefined, 2))
}

async function send(): Promise<void> {
  const target = await Target.start(database.url)
  const megabytes = (bytes: number): number => Math.round(bytes / 1e6)
  try {
    const only = values.only === undefined ? {} : { first: number('only'), inputs: 1 }
    const onProgress = (inputs: number, { resident, held, files }: Measured): void =>
      console.log(
        `${new Date().toISOString()} ${inputs} inputs; ${megabytes(resident)} MB resident, ${megabytes(held)} MB held, ${files} files`,
      )
    const campaign = await fuzz(target, { seed, inputs: number('inputs'), ...only, onProgress })
    console.log(JSON.stringify({ engine: engine!.name, seed, ...campaign }, undefined, 2))
  } finally {
    await target.stop()
  }
}
