export function buildDashboard(): Promise<boolean>
export function installDashboard(): Promise<boolean>
