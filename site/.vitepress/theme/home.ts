import { defineComponent, h } from 'vue'
import { Content } from 'vitepress'
import { VPHomeContent, VPHomeFeatures, VPHomeHero } from 'vitepress/theme-without-fonts'
import Recording from './recording.ts'

/** Stands for the theme's own frame of the home page, which is no landmark. */
export default defineComponent(
  () => () =>
    h('main', { class: 'VPHome home' }, [
      h(VPHomeHero),
      h(VPHomeFeatures),
      h(Recording),
      h(VPHomeContent, () => h(Content)),
    ]),
)
