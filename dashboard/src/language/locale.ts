/** The language of the page, as the service wrote it into `<html lang>`. */
export const language: string = globalThis.document?.documentElement.lang || 'en'

const primary = (tag: string): string => tag.split('-', 1)[0]!.toLowerCase()

/** The reader's own form of that language, for dates: `de-AT`. English without one gets the forms of the United States. */
export const locale: string =
  globalThis.navigator?.languages?.find((one) => primary(one) === primary(language)) ??
  (language === 'en' ? 'en-US' : language)

/** For numbers: English ones are always written as in the United States. */
export const numberLocale: string = primary(language) === 'en' ? 'en-US' : locale
