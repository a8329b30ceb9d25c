import { bodyDigest, identify, type JsonObject, readObject, type UnsignedIdOptions } from './body.ts'
import { createScheme, type Definition } from './create-scheme.ts'
import { hmacCheck, type Matcher, type Signed, type SignedByHmac, signedCheck } from './hmac.ts'
import type {
  Answered,
  Check,
  Delivery,
  Question,
  Rejected,
  Scheme,
  Shown,
  TimedOptions,
  VerificationResult,
} from './scheme.ts'

/** The options that presets can have. */
interface PresetOptions extends UnsignedIdOptions, TimedOptions {
  url?: string
}

/** A sender's row: how its requests are verified, and where their events have their id and type. */
type Sender<Options> = Described<Options> & (Signing | Checked<Options>) & (Named | Read<Options>)

interface Described<Options> extends Omit<Definition, 'name' | 'options' | 'check' | 'read' | 'ask'> {
  /** Answers the sender's GET. */
  ask?: (question: Question, secrets: readonly string[], options: Options) => Answered | Rejected
}

/** A sender that sends a signature in a header: an HMAC, or what `match` verifies. */
interface Signing {
  /** `tolerance` and `url` are those of the options. */
  signed: SignedByHmac | (Signed & { match: Matcher })
  /** Answers a request of at most 256 bytes without a signature; undefined refuses it. */
  unsigned?: (secrets: readonly string[]) => (text: string, now: number) => Answered | undefined
}

interface Checked<Options> {
  check: (secrets: readonly string[], options: Options) => Check
}

type PartOf = (body: JsonObject, delivery: Delivery) => unknown

/** Where a JSON object has its id and type, which are not validated. With `id: 'digest'` in the options, its id is not used. */
interface Named {
  id: PartOf
  type: PartOf
}

interface Read<Options> {
  read: (delivery: Delivery, shown: Shown, options: Options) => VerificationResult
}

/** The largest body, in bytes, that `unsigned` gets. */
const largestUnsigned = 256

/** Makes the preset of a sender. */
export function preset<Options extends PresetOptions, Payload = unknown>(
  name: string,
  sender: Sender<Options>,
): (options: Options) => Scheme<Payload> {
  const { ask, ...described } = sender
  const makeCheck: Checked<Options>['check'] =
    'check' in sender ? sender.check : (secrets, options) => signingCheck(sender, options, secrets)
  const read: Read<Options>['read'] =
    'read' in sender ? sender.read : (delivery, _, options) => readNamed(sender, options, delivery)
  return (options) =>
    createScheme<Payload>({
      ...described,
      name,
      options,
      ...(ask && { ask: (question, secrets) => ask(question, secrets, options) }),
      check: (secrets) => makeCheck(secrets, options),
      read: (delivery, shown) => read(delivery, shown, options),
    })
}

function signingCheck(
  { signed, unsigned }: Signing,
  { tolerance, url }: PresetOptions,
  secrets: readonly string[],
): Check {
  const all = { ...signed, tolerance, url }
  const check = ('match' in all ? signedCheck(all, all.match) : hmacCheck(all))(secrets)
  const answer = unsigned?.(secrets)
  if (!answer) return check
  return (delivery) => {
    const { rawBody, headers, now } = delivery
    const isSigned = headers[signed.header] !== undefined || rawBody.length > largestUnsigned
    return (isSigned ? undefined : answer(rawBody.toString('latin1'), now)) ?? check(delivery)
  }
}

function readNamed({ id, type }: Named, options: PresetOptions, delivery: Delivery): VerificationResult {
  const body = readObject(delivery.rawBody)
  if ('rejected' in body) return body
  const { object } = body
  const eventId = options.id === 'digest' ? bodyDigest(delivery.rawBody) : id(object, delivery)
  return identify(eventId, type(object, delivery))
}
