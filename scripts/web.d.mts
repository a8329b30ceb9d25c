export function buildWeb(name: 'dashboard' | 'site'): Promise<boolean>
