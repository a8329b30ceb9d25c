import type { Words } from './en.ts'

/** Portuguese of Brazil. */
export const pt: Words = {
  common: {
    continue: 'Continuar',
    continueTo: 'Ir para {name}',
    backTo: 'Voltar para {name}',
    tryAgain: 'Tentar novamente',
    signedInAs: 'Você fez login como {name}.',
    goToDashboard: 'Ir para o painel',
    allow: 'Permitir',
    deny: 'Negar',
    oneMoment: 'Um momento',
    referenceId: 'Número de referência: {id}',
    contactSupport: 'Falar com o suporte',
    needsScript: 'Esta página precisa do JavaScript.',
  },
  footer: { terms: 'Termos', privacy: 'Privacidade', support: 'Suporte' },
  signIn: {
    title: 'Fazer login',
    toContinueTo: 'Para continuar em {app}',
    providers: 'Formas de fazer login',
    continueWith: 'Continuar com {provider}',
    lastUsed: 'Usado por último',
    noProvider: 'O login ainda não foi configurado.',
    againTitle: 'Fazer login novamente',
    again: 'Faça login novamente para confirmar sua identidade.',
    chooseTitle: 'Escolher uma conta',
    choose: 'Escolha o provedor da conta que você quer usar.',
    invitedTitle: 'Aceitar o convite',
    invited: 'Você recebeu um convite para {service}.',
    invitedBy: '{name} convidou você para {service}.',
    invitedAddress: 'Use uma conta cujo e-mail verificado seja {email}.',
    invitedSignedIn: 'O convite é para uma conta nova. Para usá-lo, saia ou escolha outra conta.',
    doneTitle: 'Você fez login',
    done: 'Você pode fechar esta página.',
    otherAccount: 'Ou usar outra conta',
    signOut: 'Sair',
    thisAccount: 'esta conta',
    thatProvider: 'esse provedor',
    twoAccounts: 'Você tem duas contas: {account} e outra em que você faz login com {provider}.',
    useOther: 'Para usar a outra conta, saia e continue com {provider}.',
    moveProvider:
      'Para transferir {provider} para {account}, faça login na outra conta, vincule outra identidade a ela e desvincule {provider}. Depois, volte e faça a vinculação aqui.',
    signedInBefore: 'Você já fez login antes com {providers}',
    sameAddress:
      'Já existe aqui uma conta com {address}. Faça login nela para adicionar {provider}. Se ela não for sua, continue como novo usuário.',
    linkWith: 'Fazer login com {provider} e vincular',
    newUser: 'Continuar como novo usuário',
  },
  failures: {
    'sign-in-expired':
      'Este login levou mais de dez minutos, já foi concluído ou foi iniciado em outro navegador. Tente novamente.',
    'access-denied': 'Você cancelou o login no provedor.',
    'provider-refused':
      'O provedor recusou o login. Tente novamente. Se o problema continuar, fale com o suporte.',
    'provider-unavailable': 'O provedor não está respondendo. Tente novamente em um minuto.',
    'provider-answer-invalid':
      'Não foi possível verificar a resposta do provedor. Tente novamente. Se o problema continuar, fale com o suporte.',
    'account-not-admitted':
      'Não é possível fazer login aqui com esta conta. Use uma conta da sua organização com um endereço de e-mail verificado.',
    'not-invited':
      'Para criar uma conta é preciso ter um convite. Peça um ao administrador e depois abra o link.',
    'invitation-invalid':
      'Este convite não é mais válido: ele foi usado ou revogado, ou expirou. Peça um novo. Se você já tem uma conta, entre sem ele.',
    'invitation-mismatch':
      'Este convite é para outro e-mail, ou o provedor não confirmou o seu. Use a conta que tem o e-mail do convite.',
    'account-blocked': 'Sua conta está bloqueada. Fale com o suporte.',
    refused: 'Você não pode fazer login aqui.',
    'hook-failed':
      'Não foi possível concluir o login. Tente novamente. Se o problema continuar, fale com o suporte.',
    'identity-taken': 'Esta identidade pertence a outra conta e, por isso, não foi vinculada.',
    'account-exists':
      'Você já fez login antes com outro provedor. Faça login com ele e vincule esta identidade lá, ou continue como novo usuário.',
    'other-account':
      'A conta com que você acabou de fazer login não usa este endereço e, por isso, nada foi vinculado. Faça login com a conta que usou antes ou continue como novo usuário.',
    'reauthentication-needed':
      'Faça login novamente. As identidades só podem ser vinculadas e desvinculadas logo após um login. Depois, repita a operação.',
    'reauthentication-unproven':
      'O provedor não confirmou que você acabou de fazer login. Saia da conta no provedor e tente novamente. Se o problema continuar, fale com o suporte.',
    'issuer-changed': 'Esta conta pertence a outro servidor do provedor. Fale com o suporte.',
    'session-changed':
      'Você saiu ou trocou de conta enquanto a identidade era vinculada. Faça login e vincule novamente.',
    unavailable: 'O login está temporariamente indisponível. Tente novamente em um minuto.',
    unknown: 'Não foi possível fazer login. Tente novamente.',
  },
  errors: {
    signInTitle: 'Faça login para continuar',
    signIn: 'Você não fez login ou sua sessão expirou.',
    signInAdvice: 'Depois do login, você voltará para esta página.',
    forbiddenTitle: 'Você não tem acesso',
    forbidden: 'Sua conta não tem permissão para abrir esta página.',
    forbiddenAdvice: 'Faça login com outra conta ou peça acesso ao administrador.',
    notFoundTitle: 'Página não encontrada',
    notFound: 'Não há nenhuma página neste endereço.',
    notFoundAdvice: 'Verifique o endereço. A página pode ter sido removida.',
    tooManyTitle: 'Muitas solicitações',
    tooMany: 'Recebemos muitas solicitações da sua rede ou conta.',
    tooManyAdvice: 'Aguarde um minuto e tente novamente.',
    invalidTitle: 'Falha na solicitação',
    invalid: 'A solicitação não era válida.',
    invalidAdvice: 'Volte e tente novamente. Se o problema continuar, fale com o suporte.',
    unavailableTitle: 'Temporariamente indisponível',
    unavailable: 'O serviço não pode responder no momento.',
    unavailableAdvice: 'Tente novamente em um minuto.',
    internalTitle: 'Algo deu errado',
    internal: 'Ocorreu um erro interno.',
    internalAdvice:
      'Tente novamente. Se o problema continuar, fale com o suporte e informe o número de referência.',
  },
  apps: {
    invalid: 'O app que enviou você para cá fez uma solicitação inválida.',
    invalidAdvice:
      'Volte para o app e tente novamente. Se o problema continuar, fale com os responsáveis pelo app.',
    overTitle: 'Este login não é mais válido',
    over: 'Ele demorou demais, já foi concluído ou foi iniciado em outro navegador. Comece novamente no app.',
    overAdvice: 'Se você já fez login no app, pode fechar esta página.',
    uncheckedTitle: 'O login não foi feito',
    unchecked: '{app} solicitou um login que não foi realizado.',
    uncheckedAdvice:
      'Este app não foi analisado: ele se registrou por conta própria, e você não deu acesso a ele. Continue apenas se confiar em {host}. Caso contrário, feche esta página.',
  },
  consent: {
    title: 'Permitir o acesso de {app}?',
    wants: '{app} quer:',
    apis: 'APIs: {apis}',
    destination: 'Você continuará para {host}.',
    identity: 'O app se identifica como {host}.',
    caution: 'Permita o acesso apenas se confiar neste app. Você pode removê-lo depois na sua conta.',
    useScope: 'Usar {scope}',
  },
  scopes: {
    openid: 'Reconhecer você por um identificador',
    profile: 'Ver seu nome, sua foto e outros dados do seu perfil',
    email: 'Ver seu endereço de e-mail',
    groups: 'Ver os grupos de que você participa',
    offline_access: 'Manter a conexão depois que você sair daqui',
  },
  device: {
    title: 'Fazer login em um dispositivo',
    enterCode: 'Digite o código mostrado no seu dispositivo.',
    code: 'Código',
    unknownCode:
      'Este código está incorreto, já foi usado ou expirou. Verifique o código no seu dispositivo.',
    confirmTitle: 'Fazer login neste dispositivo?',
    wants: '{app} em um dispositivo quer:',
    device: 'Dispositivo',
    unknownDevice: 'Dispositivo desconhecido',
    browserOn: '{browser} no {system}',
    someBrowserOn: 'Navegador no {system}',
    address: 'Endereço IP',
    unknownAddress: 'Desconhecido',
    otherAddress: '{address} (não é o endereço deste navegador)',
    stays:
      'O dispositivo continua conectado depois que você sai daqui. Você pode encerrar isso depois na sua conta.',
    cautionTitle: 'Alguém enviou este link ou código para você?',
    caution:
      'Nesse caso, escolha “Negar”. Caso contrário, essa pessoa teria acesso à sua conta. Ninguém precisa disso para ajudar você.',
    started: 'Eu mesmo iniciei este login, e meu dispositivo mostra {code}.',
    notCompared: 'Primeiro compare os códigos e depois marque a caixa.',
    doneTitle: 'Login feito no dispositivo',
    done: 'Volte para o seu dispositivo. Você pode fechar esta página.',
    deniedTitle: 'Login negado',
    denied: 'O login não foi feito no dispositivo. Você pode fechar esta página.',
  },
  signOut: {
    title: 'Sair?',
    consequence: 'Você sairá daqui e dos apps que usa neste navegador.',
    requestedBy: 'Solicitado por {app}.',
    confirm: 'Sair',
    stay: 'Continuar conectado',
    doneTitle: 'Você saiu',
    done: 'Sua sessão neste navegador foi encerrada.',
    again: 'Fazer login novamente',
    rejectedTitle: 'Você ainda está conectado',
    rejected: 'O app enviou uma solicitação de saída inválida.',
    rejectedAdvice: 'Nada mudou. Você pode sair na página de login.',
    signInPage: 'Ir para a página de login',
  },
  guarded: {
    formTitle: 'Você saiu',
    form: 'O formulário não foi enviado e nada foi salvo.',
    formAdvice:
      'Para não perder o que você escreveu, faça login em uma nova guia. Depois, volte para esta guia, recarregue e confirme o reenvio do formulário.',
    formSignIn: 'Fazer login em uma nova guia',
    forbiddenTitle: 'Você não tem acesso',
    forbidden: 'Esta conta não tem permissão para abrir esta página.',
    account: 'Sua conta',
    refusedTitle: 'O login não foi concluído',
    refused:
      'Ele demorou demais, já foi concluído ou foi iniciado em outro navegador. Os cookies precisam estar ativados para este site.',
  },
}
