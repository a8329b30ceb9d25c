// The dashboard's entry imports this before all else.
import { english } from './english.ts'
import { setWords } from './words.ts'

setWords(english)
