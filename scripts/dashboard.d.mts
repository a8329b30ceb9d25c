export function buildDashboard(): Promise<boolean>
