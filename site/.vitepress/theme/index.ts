import Theme from 'vitepress/theme-without-fonts'
import './style.css'
import './diagrams.css'

export default Theme
