/**
 * A schema of any library that follows Standard Schema, such as Zod, Valibot and ArkType (https://standardschema.dev). `Input` is
 * what it accepts, `Output` what it makes of that.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** https://standardschema.dev/json-schema */
    readonly jsonSchema?: { readonly input: (options: { target: 'draft-2020-12' }) => object }
  }
}

type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export function isStandardSchema(schema: object): schema is StandardSchema {
  return '~standard' in schema
}

/** Why a value does not match, each with the JSON pointer to the field. */
export function describeIssues(issues: readonly Issue[]): string[] {
  return issues.map(({ message, path = [] }) => {
    const steps = path.map((step) => `/${String(typeof step === 'object' ? step.key : step)}`)
    return `${steps.join('') || 'it'} ${message}`
  })
}
