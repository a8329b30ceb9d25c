export { defineConfig, type PosternConfig } from './define-config.ts'
