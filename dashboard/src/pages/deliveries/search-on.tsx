import { Button, Empty } from '../../ui/index.ts'

/** Shown where the part of the log that was searched has no match, and there is more to search. */
export function SearchOn({ onMore, busy }: { onMore: () => void; busy: boolean }) {
  return (
    <Empty
      title="No matches among the newest deliveries"
      action={
        <Button busy={busy} onClick={onMore}>
          Search older deliveries
        </Button>
      }
    >
      Older deliveries were not searched yet.
    </Empty>
  )
}
