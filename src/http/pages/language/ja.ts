import type { Words } from './en.ts'

export const ja: Words = {
  common: {
    continue: '続行',
    continueTo: '{name} に進む',
    backTo: '{name} に戻る',
    tryAgain: '再試行',
    signedInAs: '{name} としてログインしています。',
    goToDashboard: 'ダッシュボードへ',
    allow: '許可',
    deny: '拒否',
    oneMoment: 'お待ちください',
    referenceId: 'お問い合わせ番号: {id}',
    contactSupport: 'サポートに問い合わせる',
    needsScript: 'このページには JavaScript が必要です。',
  },
  footer: { terms: '利用規約', privacy: 'プライバシー', support: 'サポート' },
  signIn: {
    title: 'ログイン',
    toContinueTo: '{app} に進むにはログインしてください',
    providers: 'ログイン方法',
    continueWith: '{provider} で続行',
    lastUsed: '前回使用',
    noProvider: 'ログインはまだ設定されていません。',
    againTitle: '再ログイン',
    again: 'ご本人確認のため、もう一度ログインしてください。',
    chooseTitle: 'アカウントの選択',
    choose: '使用するアカウントのプロバイダを選択してください。',
    invitedTitle: '招待を承諾する',
    invited: '{service} に招待されています。',
    invitedBy: '{name} さんから {service} に招待されています。',
    invitedAddress: '確認済みのメールアドレスが {email} のアカウントを使用してください。',
    invitedSignedIn:
      'この招待は新しいアカウント用です。使用するには、ログアウトするか、別のアカウントを選択してください。',
    doneTitle: 'ログインしています',
    done: 'このページは閉じてかまいません。',
    otherAccount: '別のアカウントを使用',
    signOut: 'ログアウト',
    thisAccount: 'このアカウント',
    thatProvider: 'そのプロバイダ',
    twoAccounts: 'アカウントが 2 つあります。{account} と、{provider} でログインする別のアカウントです。',
    useOther: '別のアカウントを使用するには、ログアウトしてから {provider} で続行してください。',
    moveProvider:
      '{provider} を {account} に移すには、別のアカウントにログインして他の ID を連携し、{provider} の連携を解除してください。その後、ここに戻って連携してください。',
    signedInBefore: '以前は {providers} でログインしています',
    sameAddress:
      '{address} を使用しているアカウントがすでにあります。{provider} を追加するには、そのアカウントにログインしてください。ご自身のアカウントでない場合は、新しいユーザーとして続行してください。',
    linkWith: '{provider} でログインして連携',
    newUser: '新しいユーザーとして続行',
  },
  failures: {
    'sign-in-expired':
      'このログインは 10 分を超えたか、すでに完了しているか、別のブラウザで開始されました。もう一度お試しください。',
    'access-denied': 'プロバイダでのログインがキャンセルされました。',
    'provider-refused':
      'プロバイダがログインを拒否しました。もう一度お試しください。問題が続く場合は、サポートにお問い合わせください。',
    'provider-unavailable': 'プロバイダが応答していません。1 分ほど待ってから、もう一度お試しください。',
    'provider-answer-invalid':
      'プロバイダの応答を確認できませんでした。もう一度お試しください。問題が続く場合は、サポートにお問い合わせください。',
    'account-not-admitted':
      'このアカウントではログインできません。メールアドレスが確認済みの、組織のアカウントを使用してください。',
    'not-invited': '新しいアカウントには招待が必要です。管理者に招待を依頼し、そのリンクを開いてください。',
    'invitation-invalid':
      'この招待は無効です。すでに使用されたか、取り消されたか、期限が切れています。新しい招待を依頼してください。すでにアカウントをお持ちの場合は、招待なしでログインしてください。',
    'invitation-mismatch':
      'この招待は別のメールアドレス宛てか、プロバイダーがメールアドレスを確認していません。招待されたアドレスのアカウントを使用してください。',
    'account-blocked': 'アカウントがブロックされています。サポートにお問い合わせください。',
    refused: 'ここにはログインできません。',
    'hook-failed':
      'ログインを完了できませんでした。もう一度お試しください。問題が続く場合は、サポートにお問い合わせください。',
    'identity-taken': 'この ID は別のアカウントのものであるため、連携されませんでした。',
    'account-exists':
      '以前は別のプロバイダーでログインしています。そのプロバイダーでログインしてこの ID を連携するか、新しいユーザーとして続行してください。',
    'other-account':
      '今ログインしたアカウントはこのアドレスを使用していないため、連携されませんでした。以前使用したアカウントでログインするか、新しいユーザーとして続行してください。',
    'reauthentication-needed':
      'もう一度ログインしてください。ID の連携と解除は、ログインの直後にのみ行えます。その後、操作をやり直してください。',
    'reauthentication-unproven':
      'プロバイダで再ログインしたことを確認できませんでした。プロバイダからログアウトして、もう一度お試しください。問題が続く場合は、サポートにお問い合わせください。',
    'issuer-changed':
      'このアカウントは、プロバイダの別のサーバーのものです。サポートにお問い合わせください。',
    'session-changed':
      'ID の連携中に、ログアウトしたかアカウントが切り替わりました。ログインして、もう一度連携してください。',
    unavailable: '現在ログインできません。1 分ほど待ってから、もう一度お試しください。',
    unknown: 'ログインできませんでした。もう一度お試しください。',
  },
  errors: {
    signInTitle: 'ログインが必要です',
    signIn: 'ログインしていないか、セッションの有効期限が切れています。',
    signInAdvice: 'ログインすると、このページに戻ります。',
    forbiddenTitle: 'アクセス権がありません',
    forbidden: 'このアカウントには、このページを開く権限がありません。',
    forbiddenAdvice: '別のアカウントでログインするか、管理者にアクセス権をリクエストしてください。',
    notFoundTitle: 'ページが見つかりません',
    notFound: 'このアドレスにページはありません。',
    notFoundAdvice: 'アドレスを確認してください。ページが削除された可能性があります。',
    tooManyTitle: 'リクエストが多すぎます',
    tooMany: 'お使いのネットワークまたはアカウントからのリクエストが多すぎます。',
    tooManyAdvice: '1 分ほど待ってから、もう一度お試しください。',
    invalidTitle: 'リクエストを処理できませんでした',
    invalid: 'リクエストが無効です。',
    invalidAdvice:
      '前のページに戻って、もう一度お試しください。問題が続く場合は、サポートにお問い合わせください。',
    unavailableTitle: '一時的に利用できません',
    unavailable: '現在、サービスが応答できません。',
    unavailableAdvice: '1 分ほど待ってから、もう一度お試しください。',
    internalTitle: '問題が発生しました',
    internal: '内部エラーが発生しました。',
    internalAdvice:
      'もう一度お試しください。問題が続く場合は、お問い合わせ番号を添えてサポートにお問い合わせください。',
  },
  apps: {
    invalid: '移動元のアプリから無効なリクエストが送信されました。',
    invalidAdvice:
      'アプリに戻って、もう一度お試しください。問題が続く場合は、アプリの運営者にお問い合わせください。',
    overTitle: 'このログインは無効になりました',
    over: '時間がかかりすぎたか、すでに完了しているか、別のブラウザで開始されました。アプリで最初からやり直してください。',
    overAdvice: 'アプリにすでにログインしている場合は、このページを閉じてかまいません。',
    uncheckedTitle: 'ログインしていません',
    unchecked: '{app} がログインをリクエストしましたが、ログインは行われませんでした。',
    uncheckedAdvice:
      'このアプリは審査されていません。アプリが自ら登録したもので、アクセスも許可されていません。{host} を信頼できる場合にのみ続行してください。それ以外の場合は、このページを閉じてください。',
  },
  consent: {
    title: '{app} のアクセスを許可しますか？',
    wants: '{app} は次の許可を求めています:',
    apis: 'API: {apis}',
    destination: '{host} に進みます。',
    identity: 'アプリは自身を {host} と示しています。',
    caution: 'このアプリを信頼できる場合にのみ許可してください。許可は、後でアカウントから取り消せます。',
    useScope: '{scope} の使用',
  },
  scopes: {
    openid: 'ID によるユーザーの識別',
    profile: '名前、写真、その他のプロフィール情報の表示',
    email: 'メールアドレスの表示',
    groups: '所属するグループの表示',
    offline_access: 'ログアウト後の接続の維持',
  },
  device: {
    title: 'デバイスでログイン',
    enterCode: 'デバイスに表示されているコードを入力してください。',
    code: 'コード',
    unknownCode:
      'コードが正しくないか、使用済みか、有効期限が切れています。デバイスのコードを確認してください。',
    confirmTitle: 'このデバイスでログインしますか？',
    wants: 'デバイス上の {app} は次の許可を求めています:',
    device: 'デバイス',
    unknownDevice: '不明なデバイス',
    browserOn: '{browser} ({system})',
    someBrowserOn: 'ブラウザ ({system})',
    address: 'IP アドレス',
    unknownAddress: '不明',
    otherAddress: '{address} (このブラウザのアドレスとは異なります)',
    stays: 'ここでログアウトしても、デバイスはログインしたままです。後でアカウントから終了できます。',
    cautionTitle: 'このリンクやコードは、他の人から送られてきたものですか？',
    caution:
      'その場合は [拒否] を選択してください。許可すると、その人があなたとしてログインします。サポートのためにこの操作が必要になることはありません。',
    started: '自分で開始した操作であり、デバイスに {code} と表示されています。',
    notCompared: 'まずコードを見比べてから、チェックボックスをオンにしてください。',
    doneTitle: 'デバイスでログインしました',
    done: 'デバイスに戻ってください。このページは閉じてかまいません。',
    deniedTitle: 'ログインを拒否しました',
    denied: 'デバイスはログインしていません。このページは閉じてかまいません。',
  },
  signOut: {
    title: 'ログアウトしますか？',
    consequence: 'ここと、このブラウザで使用しているアプリからログアウトします。',
    requestedBy: '{app} からのリクエストです。',
    confirm: 'ログアウト',
    stay: 'ログインしたままにする',
    doneTitle: 'ログアウトしました',
    done: 'このブラウザのセッションは終了しました。',
    again: '再ログイン',
    rejectedTitle: 'まだログインしています',
    rejected: 'アプリから無効なログアウトのリクエストが送信されました。',
    rejectedAdvice: '何も変更されていません。ログインページからログアウトできます。',
    signInPage: 'ログインページへ',
  },
  guarded: {
    formTitle: 'ログアウトしています',
    form: 'フォームは送信されず、何も保存されませんでした。',
    formAdvice:
      '入力内容を残すには、新しいタブでログインしてください。その後、このタブに戻って再読み込みし、フォームの再送信を確認してください。',
    formSignIn: '新しいタブでログイン',
    forbiddenTitle: 'アクセス権がありません',
    forbidden: 'このアカウントには、このページを開く権限がありません。',
    account: 'アカウント',
    refusedTitle: 'ログインが完了しませんでした',
    refused:
      '時間がかかりすぎたか、すでに完了しているか、別のブラウザで開始されました。このサイトでは Cookie を有効にする必要があります。',
  },
}
