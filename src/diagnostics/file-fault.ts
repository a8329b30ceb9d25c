const fileErrors: Readonly<Record<string, string>> = {
  EACCES:
    'the user that runs this has no right to: change the rights of the file or its folder, or name another place',
  EPERM:
    'the user that runs this has no right to: change the rights of the file or its folder, or name another place',
  ENOENT: 'it does not exist',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is no folder',
  EROFS: 'it lies on a read-only file system: name another place',
  ENOSPC: 'the disk is full',
}

/** Why a file cannot be used, in words; undefined for other errors than those of files. */
export const fileFault = ({ code = '' }: NodeJS.ErrnoException): string | undefined => fileErrors[code]
