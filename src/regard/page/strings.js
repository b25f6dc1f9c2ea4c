// Every text of the interface, in English and in French. {name} stands for a value. {count:head|heads} is a number with
// a noun that agrees with it, and {count?looks|look} only the word that agrees.

const TABLE = {
  separator: [", ", ", "],
  title: ["A text and its translation", "Un texte et sa traduction"],
  theme: ["Theme", "Thème"],
  "theme.auto": ["Theme: auto", "Thème : auto"],
  "theme.light": ["Theme: light", "Thème : clair"],
  "theme.dark": ["Theme: dark", "Thème : sombre"],
  language: ["Language of the page", "Langue de la page"],
  source: ["source", "source"],
  target: ["target", "cible"],
  "texts.source": ["Text", "Texte"],
  "texts.target": ["Translation", "Traduction"],
  "texts.torch": ["Translation by torch", "Traduction par torch"],
  "texts.full": ["Translation of the full model", "Traduction du modèle complet"],
  "texts.differ": ["CTranslate2 and torch gave different translations. Inside shows CTranslate2’s.", "CTranslate2 et torch ont donné des traductions différentes. L’intérieur montre celle de CTranslate2."],
  "texts.without": ["Translated without {without}.", "Traduit sans {without}."],
  "texts.computed": ["Computed without {without}: {description}.", "Calculé sans {without} : {description}."],
  "texts.kept": ["The translation is that of the full model.", "La traduction est celle du modèle complet."],

  inside: ["Inside", "À l’intérieur"],
  "inside.none": ["This model has no attention.", "Ce modèle n’a pas d’attention."],
  "inside.states": ["It passes everything on in the states of its recurrent layers, below.", "Il transmet tout dans les états de ses couches récurrentes, ci-dessous."],
  "inside.long": ["This text has {count} tokens. Drawing it may take a moment.", "Ce texte a {count} tokens. Le dessiner peut prendre un moment."],
  "inside.draw": ["Draw it", "Le dessiner"],
  "look.waiting": ["Looking inside…", "Un regard à l’intérieur…"],
  "look.starting": ["Starting the part of the server that looks inside. This happens once and takes some seconds.", "Démarrage de la partie du serveur qui regarde à l’intérieur. Cela arrive une fois et prend quelques secondes."],
  "look.ahead": ["The server looks inside one text at a time. {count:request is|requests are} ahead of yours.", "Le serveur regarde un texte à la fois. {count:requête passe|requêtes passent} avant la vôtre."],
  "look.kept": ["What was drawn before stays.", "Le dessin précédent reste."],
  "look.again": ["Try again", "Réessayer"],
  "look.again.in": ["Trying again in {seconds:second|seconds}.", "Nouvel essai dans {seconds:seconde|secondes}."],
  "look.busy": ["Many people are looking inside right now.", "Beaucoup de gens regardent à l’intérieur en ce moment."],
  "look.ended": ["The part of the server that looks inside has stopped.", "La partie du serveur qui regarde à l’intérieur s’est arrêtée."],
  "look.slow": ["This took too long, and was given up.", "C’était trop long, et a été abandonné."],
  "look.offline": ["No connection.", "Pas de connexion."],
  "look.refused": ["The model cannot look inside this text.", "Le modèle ne peut pas regarder à l’intérieur de ce texte."],
  "look.failing": ["Looking inside did not work.", "Le regard à l’intérieur n’a pas marché."],
  "link.copy": ["Copy link", "Copier le lien"],
  "link.copied": ["Copied. The text is part of the link.", "Copié. Le texte fait partie du lien."],
  "link.address": ["The link is in the address bar. The text is part of it.", "Le lien est dans la barre d’adresse. Le texte en fait partie."],
  save: ["Save as a file", "Enregistrer"],
  "save.wait": ["Making the file…", "Création du fichier…"],
  "save.done": ["Saved. It opens without a server.", "Enregistré. Il s’ouvre sans serveur."],
  kinds: ["Who looks at whom", "Qui regarde qui"],
  units: ["Units", "Unités"],
  words: ["Words", "Mots"],
  tokens: ["Tokens", "Tokens"],
  start: ["start", "début"],
  end: ["end", "fin"],
  "hint.point": ["Point at a word to see where it looks. Thicker line: more attention.", "Pointez un mot pour voir où il regarde. Trait plus épais : plus d’attention."],
  "hint.touch": ["Tap a word to see where it looks. Thicker line: more attention.", "Touchez un mot pour voir où il regarde. Trait plus épais : plus d’attention."],
  "hint.decoder": ["The chosen word is about to be written.", "Le mot choisi va être écrit."],
  "hint.causal": ["The line begins with what is read at that point; words after the dashed line come later.", "La ligne commence par ce qui est lu à ce moment ; les mots après le trait tireté viennent plus tard."],
  "words.looking": ["Words that look", "Mots qui regardent"],
  "words.seen": ["Words looked at", "Mots regardés"],
  "word.weight": ["{word}, weight {weight}", "{word}, poids {weight}"],
  "word.row": ["{word}: see where it looks", "{word} : voir où il regarde"],
  "word.hidden": ["{word}, comes later, masked", "{word}, vient plus tard, masqué"],
  "looks.at": ["looks at", "regarde"],

  "finding.encoder": ["{word} attends to {to}", "{word} regarde {to}"],
  "finding.decoder": ["After {read}, about to write {word}, it attends to {to}", "Après {read}, sur le point d’écrire {word}, il regarde {to}"],
  "finding.value": [": {weight}", " : {weight}"],
  "finding.shares": ["What one word gives away adds up to 1: {shares}, all others {rest}.", "Ce qu’un mot distribue fait 1 en tout : {shares}, tous les autres {rest}."],
  "finding.shares.all": ["What one word gives away adds up to 1: {shares}.", "Ce qu’un mot distribue fait 1 en tout : {shares}."],
  "finding.heads": ["A head is one of the model’s {count} ways of looking here; {same} of them {same?looks|look} most at {to}, by chance it would be about {chance}.", "Une tête est l’une des {count} façons de regarder du modèle ici ; {same} d’entre elles {same?regarde|regardent} surtout {to}, par hasard ce serait environ {chance}."],
  "finding.only": ["This model has one head here.", "Ce modèle a une seule tête ici."],
  "finding.combined": ["This combines several heads, so no single head need look like this.", "Ceci combine plusieurs têtes ; aucune tête ne regarde forcément ainsi."],
  "finding.hint": ["A line shows where the model looks, not whether it matters.", "Un trait montre où le modèle regarde, pas si cela compte."],
  "finding.test": ["So a line is a hint; removing the head is the test.", "Un trait est donc un indice ; retirer la tête est le test."],
  "opened.weight": ["Shown first, because no other weight on a word at least three words away stands out so much from the other heads.", "Montré d’abord, car aucun autre poids sur un mot à trois mots au moins ne se détache autant des autres têtes."],
  "opened.effect": ["Shown first, because without this head a written token changes more than without the others that were tried, and most of this comes from this word.", "Montré d’abord, car sans cette tête un token écrit change plus que sans les autres qui ont été essayées, et surtout à cause de ce mot."],

  "removal.remove": ["Remove this head", "Retirer cette tête"],
  "removal.back": ["Put this head back", "Remettre cette tête"],
  "removal.full": ["Show the full model", "Montrer le modèle complet"],
  "removal.where": ["{where} removed", "{where} retirée"],
  "removal.becomes": ["{lead}, {word} becomes {other}", "{lead}, {word} devient {other}"],
  "removal.exceeds": ["{lead}, {other} is more probable here than {word}", "{lead}, {other} est plus probable ici que {word}"],
  "removal.stays": ["{lead}, the probability of {word} goes from {before} to {after}", "{lead}, la probabilité de {word} passe de {before} à {after}"],
  "removal.with": ["with the head", "avec la tête"],
  "removal.without": ["without it", "sans elle"],
  "removal.with.short": ["with", "avec"],
  "removal.without.short": ["without", "sans"],
  "removal.same": ["The translation stays the same.", "La traduction reste la même."],
  "removal.given": ["The translation was given, so it stays the same.", "La traduction était donnée ; elle reste la même."],
  "removal.unknown": ["The probabilities below are those after the same words. This page does not have the translation without this head; this command computes it:", "Les probabilités ci-dessous sont celles après les mêmes mots. Cette page n’a pas la traduction sans cette tête ; cette commande la calcule :"],
  "removal.here": ["What would it write here?", "Qu’écrirait-il ici ?"],
  "removal.place": ["Token {step} of the translation, after the same words: the one whose probability changes most.", "Token {step} de la traduction, après les mêmes mots : celui dont la probabilité change le plus."],
  "removal.special": ["Is that special? Each mark is one head, removed alone", "Est-ce particulier ? Chaque marque est une tête, retirée seule"],
  "removal.baseline.label": ["Probability of {token} without this head: {own}. Without each of the {count} others: {low} to {high}.", "Probabilité de {token} sans cette tête : {own}. Sans chacune des {count} autres : {low} à {high}."],
  "removal.now": ["With all heads: {before}.", "Avec toutes les têtes : {before}."],
  "removal.others": ["{count:other head|other heads} would change which token is the most probable here.", "{count:autre tête changerait|autres têtes changeraient} le token le plus probable ici."],

  "change.label": ["Change this head in another way", "Changer cette tête autrement"],
  "change.none": ["Change it instead…", "La changer plutôt…"],
  "change.spread": ["Spread its attention evenly", "Répartir son attention également"],
  "change.only": ["make {word} look only at", "faire regarder à {word} seulement"],
  "change.kept": ["the chosen word", "le mot choisi"],
  "change.back": ["Undo the change", "Annuler le changement"],
  "change.where": ["{where} changed", "{where} changée"],
  "change.before": ["as it is", "telle quelle"],
  "change.after": ["changed", "changée"],
  "change.removed": ["Without this head", "Sans cette tête"],
  "change.uniform": ["If it spreads its attention evenly", "Si elle répartit son attention également"],
  "change.forced": ["If {row} looks only at {column} here", "Si {row} ne regarde que {column} ici"],
  "change.removed.note": ["The dashed lines are the weights of this head, which were set to 0: nothing passes through it.", "Les traits tiretés sont les poids de cette tête, mis à 0 : rien ne passe par elle."],
  "change.uniform.note": ["The orange lines are its new weights: every word gets the same share of the attention of every other.", "Les traits orange sont ses nouveaux poids : chaque mot reçoit la même part de l’attention de chaque autre."],
  "change.forced.note": ["The orange line is the new weight: in this head, all attention of {row} goes to {column}. The other words look as before.", "Le trait orange est le nouveau poids : dans cette tête, toute l’attention de {row} va à {column}. Les autres mots regardent comme avant."],
  "heads.waiting": ["Removing each head in turn, to compare. This takes a few seconds.", "Chaque tête est retirée à son tour, pour comparer. Cela prend quelques secondes."],
  "heads.failed": ["The other heads could not be removed just now. Choose “If removed” to try again.", "Les autres têtes n’ont pas pu être retirées. Choisissez « Si retirée » pour réessayer."],

  "where.head": ["layer {layer}, head {head}", "couche {layer}, tête {head}"],
  "where.mean": ["layer {layer}, mean of {count:head|heads}", "couche {layer}, moyenne de {count:tête|têtes}"],
  "where.max": ["layer {layer}, maximum of {count:head|heads}", "couche {layer}, maximum de {count:tête|têtes}"],
  "where.all.mean": ["all layers, mean of {count:head|heads}", "toutes les couches, moyenne de {count:tête|têtes}"],
  "where.all.max": ["all layers, maximum of {count:head|heads}", "toutes les couches, maximum de {count:tête|têtes}"],
  "where.all.rollout": ["rollout through {layers} layers", "rollout à travers {layers} couches"],
  "where.rollout.note": ["Rollout: mean of heads in each layer, half for the residual connection", "Rollout : moyenne des têtes de chaque couche, moitié pour la connexion résiduelle"],

  "heads.title": ["All {count} heads", "Les {count} têtes"],
  "heads.note": ["A head is one way of looking. Band and caption: where {word} looks most.", "Une tête est une façon de regarder. Bande et légende : où {word} regarde le plus."],
  "heads.mode": ["Caption shows", "La légende montre"],
  "heads.mode.look": ["Where it looks", "Où elle regarde"],
  "heads.mode.remove": ["If removed", "Si retirée"],
  "heads.note.remove": ["Probability of {word} without that head (with all heads {before}). ≠: another token becomes the most probable.", "Probabilité de {word} sans cette tête (avec toutes : {before}). ≠ : un autre token devient le plus probable."],
  "heads.label.remove": ["Layer {layer}, head {head}: probability of {word} without it {after}", "Couche {layer}, tête {head} : probabilité de {word} sans elle {after}"],
  "heads.label.changed": [", another token becomes the most probable", ", un autre token devient le plus probable"],
  "heads.layer": ["Layer {layer}", "Couche {layer}"],
  "heads.head": ["Head {head}", "Tête {head}"],
  "heads.label": ["Layer {layer}, head {head}: looks most at {to}, {weight}", "Couche {layer}, tête {head} : regarde surtout {to}, {weight}"],

  "map.title": ["{where}: every word", "{where} : tous les mots"],
  "map.note": ["Each row is a word that looks; each column, a word looked at. The area of a dot is the weight.", "Chaque ligne est un mot qui regarde ; chaque colonne, un mot regardé. L’aire d’un point est le poids."],
  "map.choose": ["Map", "Carte"],
  "map.layer": ["Layer {layer}", "Couche {layer}"],
  "map.all": ["All layers", "Toutes les couches"],
  "map.head": ["head {head}", "tête {head}"],
  "map.mean": ["mean", "moyenne"],
  "map.max": ["maximum", "maximum"],
  "map.rollout": ["rollout", "rollout"],
  "map.label": ["Map of {rows} rows and {columns} columns. Arrow keys move from cell to cell; Enter shows the arithmetic.", "Carte de {rows} lignes et {columns} colonnes. Les flèches passent d’une case à l’autre ; Entrée montre le calcul."],
  "map.cell": ["{row} → {column}: {weight}", "{row} → {column} : {weight}"],
  "map.masked": ["{row} → {column}: masked, because it comes later", "{row} → {column} : masqué, car il vient plus tard"],
  "map.read": ["after {read}, about to write {word}", "après {read}, sur le point d’écrire {word}"],
  "map.ranking": ["Where {word} looks", "Où {word} regarde"],
  "map.more": ["Show all {count}", "Tout montrer ({count})"],
  "map.rounding": ["Weights of words are sums over their tokens; the row of a word is the mean over its tokens.", "Le poids d’un mot est la somme sur ses tokens ; la ligne d’un mot est la moyenne sur ses tokens."],

  "compare.title": ["Two sentences side by side", "Deux phrases côte à côte"],
  "compare.text": ["Compare with", "Comparer avec"],
  "compare.start": ["Compare", "Comparer"],
  "compare.wait": ["Comparing…", "Comparaison…"],
  "compare.pair": ["Compare with {word}", "Comparer avec {word}"],
  "compare.stop": ["Stop comparing", "Ne plus comparer"],
  "compare.file": ["Compare with another saved page:", "Comparer avec une autre page enregistrée :"],
  "compare.file.bad": ["This file is not a page that `regard look --html` wrote.", "Ce fichier n’est pas une page écrite par `regard look --html`."],
  "compare.unlike": ["The other page is of a model with other heads, so its maps cannot be compared with these.", "L’autre page est d’un modèle à d’autres têtes ; ses cartes ne se comparent pas à celles-ci."],
  "compare.becomes": ["{one} becomes {two}", "{one} devient {two}"],
  "compare.same": ["The translations have the same words", "Les traductions ont les mêmes mots"],
  "compare.moved": ["Here {word} moves {moved} of its attention.", "Ici {word} déplace {moved} de son attention."],
  "compare.still": ["It still looks most at {word}.", "Il regarde toujours surtout {word}."],
  "compare.now": ["It now looks most at {word} instead of {before}.", "Il regarde maintenant surtout {word} au lieu de {before}."],
  "compare.hint": ["Removing the head shows whether this matters.", "Retirer la tête montre si cela compte."],
  "compare.where": ["Where {word} looks in both, {where}", "Où {word} regarde dans les deux, {where}"],
  "compare.heads": ["Heads that move most between the two", "Têtes qui bougent le plus entre les deux"],
  "compare.head": ["Head", "Tête"],
  "compare.moved.column": ["attention moved", "attention déplacée"],
  "compare.removed": ["{token} in the second if removed", "{token} dans la seconde si retirée"],
  "compare.changes": ["≠", "≠"],
  "compare.warning": ["Moving most is not the same as mattering most. ≠: another token becomes the most probable.", "Bouger le plus n’est pas compter le plus. ≠ : un autre token devient le plus probable."],

  "sum.title": ["How {weight} comes about", "D’où vient {weight}"],
  "sum.title.none": ["How a weight comes about", "D’où vient un poids"],
  "sum.note": ["For every word, this head turns {inputs} numbers into three short lists of {width}: what the word asks for, what it offers, and what it passes on. Bars up: above zero. Hollow bars down: below.", "Pour chaque mot, cette tête change {inputs} nombres en trois listes courtes de {width} : ce que le mot demande, ce qu’il offre et ce qu’il transmet. Barres vers le haut : au-dessus de zéro. Barres creuses vers le bas : en dessous."],
  "sum.note.only": ["Bars up: above zero. Hollow bars down: below.", "Barres vers le haut : au-dessus de zéro. Barres creuses vers le bas : en dessous."],
  "sum.combined": ["A map over several heads has no arithmetic of its own. Choose one head.", "Une carte de plusieurs têtes n’a pas de calcul propre. Choisissez une tête."],
  "sum.row": ["Looks", "Regarde"],
  "sum.column": ["Is looked at", "Est regardé"],
  "sum.missing": ["This page does not contain the vectors of {address}. This command prints them:", "Cette page ne contient pas les vecteurs de {address}. Cette commande les affiche :"],
  "sum.page": ["This command writes a page that contains them:", "Cette commande écrit une page qui les contient :"],
  "sum.asks": ["What {word} asks for", "Ce que {word} demande"],
  "sum.offers": ["What {word} offers", "Ce que {word} offre"],
  "sum.multiply": ["Multiply number by number, add up", "Multiplier nombre par nombre, additionner"],
  "sum.additive": ["Add number by number, tanh, times v, add up", "Additionner nombre par nombre, tanh, fois v, additionner"],
  "sum.scale": ["Make it smaller", "Réduire"],
  "sum.share": ["Its share among all the words", "Sa part parmi tous les mots"],
  "sum.passes": ["What {word} passes on to {to}", "Ce que {word} transmet à {to}"],
  "sum.query": ["query, {count} numbers", "query, {count} nombres"],
  "sum.key": ["key, {count} numbers", "key, {count} nombres"],
  "sum.score": ["score: how well they match", "score : à quel point ils s’accordent"],
  "sum.divide": ["÷ √{width} = {root}", "÷ √{width} = {root}"],
  "sum.weight": ["weight", "poids"],
  "sum.softmax": ["softmax: e to the power {scaled} is {power}, of {sum} in all", "softmax : e puissance {scaled} fait {power}, sur {sum} en tout"],
  "sum.value": ["weight × value, {count} numbers", "poids × value, {count} nombres"],
  "sum.masked": ["masked: it comes later", "masqué : il vient plus tard"],
  "sum.intervention": ["Computed without {name}:", "Calculé sans {name} :"],
  "sum.replaced": ["replaced by the intervention", "remplacé par l’intervention"],
  "sum.table": ["The same for every token", "La même chose pour chaque token"],
  "sum.token": ["token", "token"],
  "sum.scaled": ["scaled", "réduit"],
  "sum.col.score": ["score", "score"],
  "sum.col.weight": ["share", "part"],
  "sum.total": ["sum", "somme"],
  "sum.products": ["{token}: number by number", "{token} : nombre par nombre"],
  "sum.element": ["element", "élément"],
  "sum.query.how": ["Query: {query}. Key: {key}. Score: {score}.", "Query : {query}. Key : {key}. Score : {score}."],
  "sum.weighted": ["{token}: value times weight {weight}", "{token} : value fois le poids {weight}"],
  "sum.mixed": ["Head output: the sum of all values times their weights", "Sortie de la tête : la somme de toutes les values fois leurs poids"],
  "sum.joined": ["Attention output: {joined} concatenated, then {output}", "Sortie de l’attention : {joined} concatenated, then {output}"],
  "sum.added": ["The output is added to the input of the sublayer.", "La sortie est ajoutée à l’entrée de la sous-couche."],
  "sum.command": ["This command prints these numbers and all other steps:", "Cette commande affiche ces nombres et toutes les autres étapes :"],
  "sum.output": ["output", "sortie"],
  "sum.concatenation": ["concatenation", "concaténation"],
  "sum.product": ["product", "produit"],
  "sum.contribution": ["value × weight", "value × poids"],

  "writing.title": ["Written token by token", "Écrit token par token"],
  "writing.note": ["The model writes one token at a time. Choose one to see what else it could have written there. Dotted: probability below {limit}.", "Le modèle écrit un token à la fois. Choisissez-en un pour voir ce qu’il aurait pu écrire là. Pointillé : probabilité sous {limit}."],
  "writing.back": ["Previous", "Précédent"],
  "writing.next": ["Next", "Suivant"],
  "writing.step": ["Step {step} of {count}: after {read}, {token} had probability {probability}.", "Étape {step} sur {count} : après {read}, {token} avait la probabilité {probability}."],
  "writing.tokens": ["Tokens of the translation", "Tokens de la traduction"],
  "writing.top": ["Most probable tokens", "Tokens les plus probables"],
  "writing.attention": ["Where it looks: {where}", "Où il regarde : {where}"],
  "writing.beams": ["Beam search", "Recherche en faisceau"],
  "writing.beams.note": ["Each column is one step, best beam first, with the log-probability so far. The thick line leads to the best hypothesis of the search by torch.", "Chaque colonne est une étape, le meilleur faisceau d’abord, avec la log-probabilité jusque-là. Le trait épais mène à la meilleure hypothèse de la recherche par torch."],
  "writing.tree": ["Tree of beams", "Arbre des faisceaux"],
  "writing.finished": ["Finished hypotheses, best score first", "Hypothèses terminées, meilleur score d’abord"],
  "writing.hypothesis": ["{text} (score {score}, log-probability {log})", "{text} (score {score}, log-probabilité {log})"],
  "writing.given": ["The target was given, so there was no search.", "La cible était donnée ; il n’y a pas eu de recherche."],
  "writing.searching": ["Searching again, to show every step…", "Nouvelle recherche, pour montrer chaque étape…"],
  "writing.own": ["The search finds another translation than the one above: {text}", "La recherche trouve une autre traduction que celle d’en haut : {text}"],
  "writing.total": ["{token}: log-probability so far {log}", "{token} : log-probabilité jusque-là {log}"],

  "positions.title": ["Where a word stands", "La place d’un mot"],
  "positions.note": ["Attention alone cannot tell first from last. So every position has its own pattern of {width} numbers, which is added to the word there.", "L’attention seule ne distingue pas le premier du dernier. Chaque position a donc son propre motif de {width} nombres, ajouté au mot qui s’y trouve."],
  "positions.sinusoid": ["Each pair of numbers holds a sine and a cosine, with a lower frequency than the pair before it (section 3.5 of the paper).", "Chaque paire de nombres contient un sinus et un cosinus, de fréquence plus basse que la paire précédente (section 3.5 de l’article)."],
  "positions.learned": ["These numbers were learned during training.", "Ces nombres ont été appris pendant l’entraînement."],
  "positions.rows": ["Rows: the first {rows} positions. Bars: the numbers, from −{max} (grey, down) to {max} (blue, up). Stored in steps of {step}.", "Lignes : les {rows} premières positions. Barres : les nombres, de −{max} (gris, bas) à {max} (bleu, haut). Enregistrés par pas de {step}."],
  "positions.point": ["Point at a cell to see its value.", "Pointez une case pour voir sa valeur."],
  "positions.cell": ["position {row}{word}, dimension {column}: {value}", "position {row}{word}, dimension {column} : {value}"],
  "positions.word": [" ({word})", " ({word})"],
  "positions.label": ["Picture of {rows} positions with {width} dimensions", "Image de {rows} positions à {width} dimensions"],

  "states.title": ["States of the recurrent layers", "États des couches récurrentes"],
  "states.note": ["A recurrent layer reads one token after the other, and keeps what it needs in its state.", "Une couche récurrente lit un token après l’autre et garde le nécessaire dans son état."],
  "states.layer": ["Recurrent layer", "Couche récurrente"],
  "states.token": ["Token", "Token"],
  "states.text.before": ["{title} with {width} units. The state before the step is that of the position before this one.", "{title} à {width} unités. L’état avant l’étape est celui de la position précédente."],
  "states.text.after": ["{title} with {width} units. The state before the step is that of the position after this one.", "{title} à {width} unités. L’état avant l’étape est celui de la position suivante."],
  "states.absent": ["{address} (not in this page)", "{address} (pas dans cette page)"],
  "states.vectors": ["Vectors of this step", "Vecteurs de cette étape"],
  "states.vector": ["vector", "vecteur"],
  "states.units": ["units", "unités"],
  "states.mean": ["mean", "moyenne"],
  "states.smallest": ["smallest", "minimum"],
  "states.largest": ["largest", "maximum"],
  "states.unit": ["Unit {unit}, whose hidden state changes most", "Unité {unit}, dont l’état caché change le plus"],
  "states.all": ["All units, largest change of the hidden state first", "Toutes les unités, plus grand changement de l’état caché d’abord"],
  "states.col": ["unit", "unité"],
  "states.command": ["This command prints the same step:", "Cette commande affiche la même étape :"],
  "states.strip": ["{name}, one bar for each unit, from {low} to {high}", "{name}, une barre par unité, de {low} à {high}"],
  "states.norms": ["Norms of the states at all positions", "Normes des états à toutes les positions"],
  "states.norms.note": ["Blue: forwards. Orange, dashed: backwards. Thin: cell. A target position has the name of the token that it predicts.", "Bleu : vers l’avant. Orange tireté : vers l’arrière. Fin : cellule. Une position de la cible porte le nom du token qu’elle prédit."],

  "model.title": ["The model", "Le modèle"],
  "model.note": ["Every stage of the computation in order, with the numbers of one token of this text.", "Chaque étape du calcul dans l’ordre, avec les nombres d’un token de ce texte."],
  "model.text": ["{parameters} parameters. This text: {source} source tokens, {target} target tokens.", "{parameters} paramètres. Ce texte : {source} tokens source, {target} tokens cible."],
  "model.stack": ["{stack}, {count:layer|layers}, each with", "{stack}, {count:couche|couches}, chacune avec"],
  "model.token": ["Token", "Token"],
  "model.input": ["Input", "Entrée"],
  "model.output": ["Output", "Sortie"],
  "model.norm": ["norm", "norme"],
  "model.receives": ["gets the {what}", "reçoit : {what}"],

  "tour.start": ["Take the tour", "Suivre la visite"],
  "tour.skip": ["Skip", "Passer"],
  "tour.back": ["Back", "Retour"],
  "tour.next": ["Next", "Suivant"],
  "tour.done": ["Done", "Terminer"],
  "tour.step": ["Step {step} of {count}", "Étape {step} sur {count}"],
  "tour.look.title": ["Words look at words", "Les mots regardent les mots"],
  "tour.look": ["To understand a word, the model looks at the others. Here {word} gives {weight} of its attention to {to}. All of it is 1, and the thickness of a line is the share.", "Pour comprendre un mot, le modèle regarde les autres. Ici {word} donne {weight} de son attention à {to}. Le tout fait 1, et l’épaisseur d’un trait est la part."],
  "tour.match.title": ["A question meets an offer", "Une demande rencontre une offre"],
  "tour.match": ["{word} asks for something, and every word offers something: two lists of numbers. They are multiplied number by number and added up. For {to} this gives {score}, for {next} {nextScore}.", "{word} demande quelque chose et chaque mot offre quelque chose : deux listes de nombres. On les multiplie nombre par nombre et on additionne. Pour {to} cela fait {score}, pour {next} {nextScore}."],
  "tour.share.title": ["Scores become shares", "Les scores deviennent des parts"],
  "tour.share": ["Softmax turns the scores of all words into shares of one whole. {to} gets {weight}, {next} {nextWeight}. The shares of all words add up to 1.", "Le softmax change les scores de tous les mots en parts d’un tout. {to} reçoit {weight}, {next} {nextWeight}. Les parts de tous les mots font 1."],
  "tour.value.title": ["Looking means taking over", "Regarder, c’est prendre"],
  "tour.value": ["{word} takes {weight} of what {to} passes on, and {rest} from all other words together. The sum is the output of this head.", "{word} prend {weight} de ce que {to} transmet, et {rest} de tous les autres mots ensemble. La somme est la sortie de cette tête."],
  "tour.heads.title": ["Many heads look at once", "Plusieurs têtes regardent à la fois"],
  "tour.heads": ["Each small map is one head, and there are {count} of them here. {same} {same?looks|look} most at {to}. Others look elsewhere: {where} puts {weight} on {other}.", "Chaque petite carte est une tête ; il y en a {count} ici. {same} {same?regarde|regardent} surtout {to}. D’autres regardent ailleurs : {where} met {weight} sur {other}."],
  "tour.order.title": ["Order counts", "L’ordre compte"],
  "tour.order": ["Every word also carries its place in the text, so a head can look by place. In {where}, {word} looks one word back: {weight} on {before}.", "Chaque mot porte aussi sa place dans le texte ; une tête peut donc regarder par place. Dans {where}, {word} regarde un mot en arrière : {weight} sur {before}."],
  "tour.places.title": ["Order counts", "L’ordre compte"],
  "tour.places": ["Attention alone does not know which word comes first. So every place has its own pattern of {width} numbers, which is added to the word there.", "L’attention seule ne sait pas quel mot vient d’abord. Chaque place a donc son propre motif de {width} nombres, ajouté au mot qui s’y trouve."],
  "tour.writing.title": ["Written token by token", "Écrit token par token"],
  "tour.writing": ["The translation is written in {count} steps, each from what was read and written before. The model was least sure after {read}: {token} had probability {probability}, {other} {second}. Now remove the head above, and see what changes.", "La traduction est écrite en {count} étapes, chacune d’après ce qui a été lu et écrit avant. Le modèle était le moins sûr après {read} : {token} avait la probabilité {probability}, {other} {second}. Retirez maintenant la tête ci-dessus et voyez ce qui change."],

  "footer.model": ["Model {model}", "Modèle {model}"],
  "footer.local": ["Everything on this page was computed when it was written; it asks no server.", "Tout sur cette page a été calculé à son écriture ; elle n’interroge aucun serveur."],
  "refused.file": ["This page is a file, which has only what was computed when it was written.", "Cette page est un fichier ; elle n’a que ce qui a été calculé à son écriture."],
};

export const LANGUAGES = [["en", "English"], ["fr", "Français"]];

const selected = { index: 0, name: "en" };

/** The language that the reader's browser prefers, if the page has it. */
export function uiLanguage() {
  return (navigator.language || "en").startsWith("fr") ? "fr" : "en";
}

export function setLanguage(name) {
  selected.name = name;
  selected.index = LANGUAGES.findIndex(([known]) => known === name);
  document.documentElement.lang = name;
}

/** Add texts of a part of the page to the table. */
export const addTexts = (texts) => void Object.assign(TABLE, texts);

export const currentLanguage = () => selected.name;

function filled(key, values, insert) {
  const text = TABLE[key][selected.index];
  const parts = text.split(/(\{\w+(?:[:?][^}]*)?\})/);
  return parts.map((part) => {
    const found = /^\{(\w+)(?:([:?])([^|]*)\|(.*))?\}$/.exec(part);
    if (!found) return part;
    const [, name, sign, one, many] = found;
    if (!sign) return insert(values[name]);
    const word = (selected.name === "fr" ? values[name] < 2 : values[name] === 1) ? one : many;
    return sign === ":" ? `${values[name]} ${word}` : word;
  });
}

/** A text of the interface with values in it. */
export const t = (key, values = {}) => filled(key, values, String).join("");

/** A text of the interface as a list of strings and elements, for values that are elements or lists of them. */
export const rich = (key, values = {}) => filled(key, values, (value) => value).flat().filter((part) => part !== "");

/** A number with a fixed number of decimals, in the notation of the language. */
export function number(value, decimals = 2) {
  const text = Math.abs(value).toFixed(decimals);
  const sign = value < 0 && Number(text) !== 0 ? "−" : "";
  return sign + (selected.name === "fr" ? text.replace(".", ",") : text);
}

/** A whole number with separators of thousands. */
export const whole = (value) => value.toLocaleString(selected.name);

/** A probability: two decimals, more if it is small. */
export function probability(value) {
  if (value < 0.001) return `< ${number(0.001, 3)}`;
  return number(value, value < 0.01 ? 3 : 2);
}

/** The name of a language, such as "French", or null if it is unknown. */
export function languageName(code) {
  if (!code) return null;
  try {
    return new Intl.DisplayNames([selected.name], { type: "language", fallback: "none" }).of(code) ?? null;
  } catch {
    return null;
  }
}

/** The lang property of an element with text in a language; empty if the language is unknown. */
export const langOf = (code) => (languageName(code) ? { lang: code } : {});
