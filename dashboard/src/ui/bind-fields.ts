/** An input of any kind, as its `onChange` names it. */
interface Changed<Key extends 'value' | 'checked', Value> {
  target: Record<Key, Value>
}

type NamesOf<Values, Kind> = {
  [Name in keyof Values]: Values[Name] extends Kind ? Name : never
}[keyof Values]

/** Connects inputs with the values of a form, and with their errors by their name: `<TextField label="Name" {...text('name')} />`. */
export function bindFields<Values extends object>(values: Values, set: (change: Partial<Values>) => void) {
  const change = (name: keyof Values, value: unknown): void => set({ [name]: value } as Partial<Values>)
  return {
    text: (name: NamesOf<Values, string> & string) => ({
      name,
      value: values[name] as string,
      onChange: ({ target }: Changed<'value', string>) => change(name, target.value),
    }),
    check: (name: NamesOf<Values, boolean> & string) => ({
      name,
      checked: values[name] as boolean,
      onChange: ({ target }: Changed<'checked', boolean>) => change(name, target.checked),
    }),
  }
}
