// The parts that all pages are made of.
export { Button, ButtonLink, LinkButton } from './button.tsx'
export { Badge, Status, statusWord } from './badge.tsx'
export { Time, Ago } from './time.tsx'
export {
  formatTime,
  formatDuration,
  formatNumber,
  formatShort,
  formatPercent,
  formatBytes,
} from './format.ts'
export { durationInWords, elapsedInWords, scheduleInWords } from './duration-words.ts'
export { WithCode } from './inline-code.tsx'
export { CopyButton, CopyValue } from './copy.tsx'
export { Page, Section, Facts, Fact } from './page.tsx'
export { Notice, ProblemNotice, Empty, Loading, ReadState, Progress } from './notices.tsx'
export { CodeBlock } from './code.tsx'
export { JsonView } from './json.tsx'
export { TextField, TextArea, SelectField, CheckField, Field, FieldGroup, SearchField } from './fields.tsx'
export { Form, type Faults } from './form.tsx'
export { bindFields } from './bind-fields.ts'
export { FilterBar, type Filter } from './filter-bar.tsx'
export { OpenByName } from './open-by-name.tsx'
export { ChoicesField } from './choices-field.tsx'
export { Dialog, DialogActions } from './dialog.tsx'
export { useConfirm } from './confirm.tsx'
export { toast } from './toast.tsx'
export { Tabs } from './tabs.tsx'
export { Menu } from './menu.tsx'
export { actionColumn, type Column } from './column.tsx'
export { DataTable } from './table.tsx'
export { classes } from './classes.ts'
