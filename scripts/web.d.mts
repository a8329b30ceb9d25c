type Project = 'dashboard' | 'site'
export function buildWeb(name: Project): Promise<boolean>
export function installWeb(name: Project): Promise<boolean>
