import { useState } from 'react'
import { Button, Field } from '../../ui/index.ts'

const types = ['image/svg+xml', 'image/png', 'image/webp', 'image/jpeg']
/** Bytes; the service takes 90,000 characters of base64. */
const largest = 64_000

/** A logo as a `data:` URI: chosen as a file, shown on both grounds, and removed. */
export function LogoField({
  value,
  onChange,
}: {
  value: string | null
  onChange: (logo: string | null) => void
}) {
  const [fault, setFault] = useState<string>()
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return
    const wrong = !types.includes(file.type)
      ? 'Choose an SVG, PNG, WebP or JPEG.'
      : file.size > largest
        ? `The file is ${Math.ceil(file.size / 1_000)} kB. The limit is ${largest / 1_000} kB.`
        : undefined
    setFault(wrong)
    if (wrong === undefined) onChange(await dataUri(file))
  }
  return (
    <Field
      label="Logo"
      name="logo"
      hint={`SVG, PNG, WebP or JPEG, up to ${largest / 1_000} kB. Shown 28 pixels high.`}
      error={fault}
    >
      {(ids) => (
        <>
          {value !== null && (
            <div className="mb-2 flex items-center gap-2">
              <img
                src={value}
                alt="The logo on white"
                className="h-12 max-w-40 rounded border border-line bg-white p-2"
              />
              <img
                src={value}
                alt="The logo on black"
                className="h-12 max-w-40 rounded border border-line bg-black p-2"
              />
              <Button small onClick={() => onChange(null)}>
                Remove logo
              </Button>
            </div>
          )}
          <input
            {...ids}
            type="file"
            accept={types.join(',')}
            className="block w-full text-sm file:mr-3 file:min-h-9 file:rounded-md file:border file:border-solid file:border-line file:bg-card file:px-3 file:text-ink"
            onChange={({ target }) => void take(target.files?.[0])}
          />
        </>
      )}
    </Field>
  )
}

function dataUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(reader.result as string))
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the file could not be read')))
    reader.readAsDataURL(file)
  })
}
