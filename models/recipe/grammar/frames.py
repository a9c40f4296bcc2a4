# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The frames: topics, each with its weight among the pairs and lines French | English that contain
slots of draw.py. "*3" before a line makes it three times as frequent. If a line ends with a
punctuation mark, its sentence begins with a capital."""

TOPICS = {
    "numbers": (22, """
*40 {number} | {number}
*6 {figures} | {figures}
*5 {number}. | {number}.
*2 {run} | {run}
{run}... | {run}...
le nombre {number} | the number {number}
Le nombre {number} s'écrit {figures}. | The number {number} is written {figures}.
{figures} s'écrit « {number} ». | {figures} is spelled "{number}".
Comment écrit-on {figures} en toutes lettres ? | How do you write {figures} in words?
Après {number} vient {next}. | After {number} comes {next}.
La réponse est {number}. | The answer is {number}.
Le résultat est {figures}. | The result is {figures}.
Le numéro gagnant est le {figures}. | The winning number is {figures}.
Mon chiffre porte-bonheur est le {digit}. | My lucky number is {digit}.
Compte jusqu'à {small}. | Count to {small}.
Il sait compter jusqu'à {number}. | He can count to {number}.
Comptez de un à {small}. | Count from one to {small}.
Je pense à un nombre entre un et {small}. | I'm thinking of a number between one and {small}.
J'ai dit {number}, pas {small}. | I said {number}, not {small}.
Pourriez-vous répéter ? {number} ? | Could you repeat that? {number}?
Divisez par {digit}. | Divide by {digit}.
Multipliez ce nombre par {digit}. | Multiply this number by {digit}.
Choisis un nombre inférieur à {number}. | Choose a number smaller than {number}.
Ce nombre est supérieur à {number}. | This number is greater than {number}.
"""),
    "counted": (14, """
*3 {goods} | {goods}
*2 {beings} | {beings}
{one} | {one}
Il y a {goods} dans {place}. | There are {goods} in {place}.
Il y a {beings} dans {place}. | There are {beings} in {place}.
Il n'y a que {beings} dans {place}. | There are only {beings} in {place}.
Y a-t-il vraiment {beings} dans {place} ? | Are there really {beings} in {place}?
*2 {past bought} {goods}. | {past bought} {goods}.
{past saw} {beings}. | {past saw} {beings}.
{past sold} {goods}. | {past sold} {goods}.
{past lost} {two}. | {past lost} {two}.
{past found} {two} dans {place}. | {past found} {two} in {place}.
{past received} {goods} hier. | {past received} {goods} yesterday.
{past ordered} {goods}. | {past ordered} {goods}.
{past counted} {beings}. | {past counted} {beings}.
{verb have} {goods}. | {verb have} {goods}.
{verb want} {two}. | {verb want} {two}.
*2 Je voudrais {goods}, s'il vous plaît. | I'd like {goods}, please.
Donnez-moi {goods}, s'il vous plaît. | Give me {goods}, please.
Donne-moi {two}. | Give me {two}.
Il nous faut {goods}. | We need {goods}.
J'ai besoin de {goods}. | I need {goods}.
Il me reste {goods}. | I have {goods} left.
Il manque {two}. | {two} are missing.
Combien {ofplural} y a-t-il ? | How many {ofplural} are there?
Combien {ofplural} avez-vous ? | How many {ofplural} do you have?
Nous étions {small}. | There were {small} of us.
Ils sont {small} dans la famille. | There are {small} of them in the family.
Une table pour {digit} personnes, s'il vous plaît. | A table for {digit}, please.
Plus de {crowd} personnes ont participé à la marche. | More than {crowd} people took part in the march.
Près de {crowd} personnes vivent ici. | Nearly {crowd} people live here.
La ville compte {crowd} habitants. | The town has {crowd} inhabitants.
L'entreprise emploie {crowd} personnes. | The company employs {crowd} people.
Le stade peut accueillir {crowd} spectateurs. | The stadium can hold {crowd} spectators.
Environ {crowd} visiteurs sont venus cette année. | About {crowd} visitors came this year.
Le livre s'est vendu à {crowd} exemplaires. | The book sold {crowd} copies.
Elle a reçu {crowd} voix. | She received {crowd} votes.
{about} {ofplural} | {about} {ofplural}
J'ai vu {about} {ofplural}. | I saw {about} {ofplural}.
Il y avait {heaps} {ofplural}. | There were {heaps} of {ofplural}.
Je l'ai vue {times}. | I saw her {times}.
Je te l'ai dit {times}. | I've told you {times}.
Il faut le faire {dose} par jour. | You have to do it {dose} a day.
Elle vient {dose} par semaine. | She comes {dose} a week.
J'y suis allé {times}. | I've been there {times}.
Combien de fois y es-tu allé ? | How many times have you been there?
"""),
    "ordinals": (5, """
*5 {ordinal m} | {ordinal m}
*3 {ordinal f} | {ordinal f}
*3 {rank m} | {rank m}
{rank f} | {rank f}
le {ordinal m} jour | the {ordinal m} day
la {ordinal f} fois | the {ordinal f} time
pour la {few f} fois | for the {few f} time
C'est la {few f} fois que je viens ici. | This is the {few f} time I've come here.
C'est son {few m} voyage en avion. | It's her {few m} trip by plane.
J'habite au {few m} étage. | I live on the {few m} floor.
Le bureau est au {rank m} étage. | The office is on the {rank m} floor.
Prenez la {few f} rue à droite. | Take the {few f} street on the right.
Prends la {few f} à gauche. | Take the {few f} left.
Lisez le {ordinal m} chapitre. | Read the {ordinal m} chapter.
Regardez la {few f} ligne. | Look at the {few f} line.
Il a terminé à la {ordinal f} place. | He finished in {ordinal f} place.
L'équipe est {rank f} du classement. | The team is {rank f} in the rankings.
Nous fêtons notre {rank m} anniversaire de mariage. | We're celebrating our {rank m} wedding anniversary.
C'est la {rank f} édition du festival. | This is the {rank f} edition of the festival.
{past lost} pour la {few f} fois. | {past lost} for the {few f} time.
le {century} siècle | the {century} century
*2 au {century} siècle | in the {century} century
L'église date du {century} siècle. | The church dates from the {century} century.
Le château a été construit au {century} siècle. | The castle was built in the {century} century.
{king} | {king}
le règne {ofking} | the reign of {king}
"""),
    "decimals": (6, """
*6 {decimal} | {decimal}
*6 {point} | {point}
{point}. | {point}.
*3 {percent} | {percent}
*2 {share} | {share}
*3 {sum}. | {sum}.
*2 Combien font {term} ? | How much is {term}?
{term} | {term}
La note moyenne est de {grade}. | The average grade is {grade}.
J'ai eu {grade} en mathématiques. | I got {grade} in math.
Les prix ont augmenté de {percent}. | Prices rose by {percent}.
Le chômage a baissé de {percent} en un an. | Unemployment fell by {percent} in a year.
{percent} des habitants sont d'accord. | {percent} of the inhabitants agree.
Tous les articles sont à moins {percent}. | Everything is {percent} off.
Le taux est de {percent}. | The rate is {percent}.
{parts} des élèves étaient absents. | {parts} of the pupils were absent.
{parts} des habitants ont voté. | {parts} of the inhabitants voted.
{parts} du gâteau | {parts} of the cake
Il a mangé {parts} de la pizza. | He ate {parts} of the pizza.
La valeur est de {decimal}. | The value is {decimal}.
On obtient {point}. | We get {point}.
Arrondissez à {decimal}. | Round it to {decimal}.
"""),
    "times": (13, """
*8 {time} | {time}
*3 {clock} | {clock}
à {time} | at {time}
*8 Il est {time}. | It's {time}.
*3 Il est {clock}. | It's {clock}.
Il est déjà {time} ! | It's already {time}!
Il est presque {time}. | It's almost {time}.
Quelle heure est-il ? Il est {time}. | What time is it? It's {time}.
Il est {time}, il faut partir. | It's {time}, we have to leave.
À {until} ! | See you at {until}!
Le train part à {until}. | The train leaves at {until}.
L'avion arrive à {clock}. | The plane arrives at {clock}.
Le film commence à {until}. | The movie starts at {until}.
Le magasin ferme à {until}. | The store closes at {until}.
Le musée ouvre à {until}. | The museum opens at {until}.
La réunion est à {until}. | The meeting is at {until}.
La réunion aura lieu à {clock}. | The meeting will take place at {clock}.
Le cours finit à {until}. | The class ends at {until}.
Le prochain bus est à {until}. | The next bus is at {until}.
J'ai rendez-vous à {until}. | I have an appointment at {until}.
*2 {verb get up} à {time}. | {verb get up} at {time}.
{verb go to bed} à {time}. | {verb go to bed} at {time}.
{verb arrive} à {until}. | {verb arrive} at {until}.
{verb leave} à {until}. | {verb leave} at {until}.
{verb start} à {until}. | {verb start} at {until}.
{verb finish} à {until}. | {verb finish} at {until}.
{verb eat lunch} à {until}. | {verb eat lunch} at {until}.
Réveille-moi à {time}. | Wake me up at {time}.
Rendez-vous à {until} devant la gare. | Let's meet at {until} in front of the station.
Peux-tu venir à {until} ? | Can you come at {until}?
Pouvez-vous me rappeler à {until} ? | Can you call me back at {until}?
On se voit à {until} ? | Shall we meet at {until}?
On se retrouve à {until} au café. | We're meeting at {until} at the café.
Je t'attends jusqu'à {until}. | I'll wait for you until {until}.
C'est ouvert jusqu'à {until}. | It's open until {until}.
Elle a travaillé jusqu'à {until}. | She worked until {until}.
Il n'est pas encore {time}. | It's not {time} yet.
Je serai là vers {until}. | I'll be there around {until}.
Je serai à la maison avant {until}. | I'll be home before {until}.
Ouvert de {clock} à minuit | Open from {clock} to midnight
{day} à {clock} | {day} at {clock}
{day} à {time}, ça vous va ? | {day} at {time}, does that work for you?
demain à {until} | tomorrow at {until}
Demain {daytime} à {time}. | Tomorrow {daytime} at {time}.
La banque est fermée après {until}. | The bank is closed after {until}.
Ma montre avance de {minutes}. | My watch is {minutes} fast.
Le train a {minutes} de retard. | The train is {minutes} late.
Tu as {minutes} de retard. | You're {minutes} late.
Il est arrivé avec {minutes} d'avance. | He arrived {minutes} early.
"""),
    "dates": (11, """
*4 le {daymonth} | {daymonth}
*3 {daymonth} | {daymonth}
*4 {date} | {date}
*2 le {date} | {date}
{weekdate} | {weekdate}
*2 {weekdateyear} | {weekdateyear}
{slashes} | {slashes}
*3 le {saiddate} | {saiddate}
*6 Nous sommes le {daymonth}. | Today is {daymonth}.
*4 Nous sommes le {date}. | Today is {date}.
*2 On est le {daymonth}. | It's {daymonth}.
*2 Aujourd'hui, nous sommes le {date}. | Today is {date}.
*2 Aujourd'hui, c'est le {daymonth}. | Today is {daymonth}.
*2 Nous sommes {weekdate}. | Today is {weekdate}.
Nous sommes aujourd'hui le {weekdateyear}. | Today is {weekdateyear}.
Quelle est la date d'aujourd'hui ? Le {daymonth}. | What's today's date? {daymonth}.
Demain, ce sera le {daymonth}. | Tomorrow will be {daymonth}.
*2 {born} le {date}. | {born} on {date}.
{born} le {saiddate}. | {born} on {saiddate}.
*3 {born} en {year}. | {born} in {year}.
{born} en {month}. | {born} in {month}.
Mon anniversaire est le {daymonth}. | My birthday is {daymonth}.
La fête aura lieu le {daymonth}. | The party will take place on {daymonth}.
La réunion est prévue le {weekdate} à {clock}. | The meeting is scheduled for {weekdate} at {clock}.
Le contrat a été signé le {date}. | The contract was signed on {date}.
Le concert du {daymonth} est annulé. | The concert on {daymonth} is canceled.
Le magasin sera fermé le {daymonth}. | The store will be closed on {daymonth}.
à partir du {daymonth} | starting {daymonth}
jusqu'au {daymonth} | until {daymonth}
depuis le {daymonth} | since {daymonth}
avant le {date} | before {date}
Répondez avant le {daymonth}. | Answer before {daymonth}.
L'offre est valable jusqu'au {date}. | The offer is valid until {date}.
*2 en {year} | in {year}
*2 {saidyear} | {saidyear}
en {saidyear} | in {saidyear}
C'était en {year}. | It was in {year}.
La guerre a éclaté en {year}. | The war broke out in {year}.
L'entreprise a été fondée en {year}. | The company was founded in {year}.
Elle est morte en {year}. | She died in {year}.
Il s'est marié en {year}. | He got married in {year}.
depuis {year} | since {year}
de {year} à aujourd'hui | from {year} to today
*2 dans les années {decade} | in the {decade}
C'était à la mode dans les années {decade}. | It was fashionable in the {decade}.
Bonne année {year} ! | Happy New Year {year}!
"""),
    "days": (5, """
*3 {day} | {day}
*2 {month} | {month}
le {day} | on {day}s
{day} prochain | next {day}
{day} dernier | last {day}
{day} {daytime} | {day} {daytime}
À {day} ! | See you on {day}!
Bon {day} ! | Have a good {day}!
C'est {day}. | It's {day}.
On est {day}. | It's {day}.
Nous sommes {day}. | Today is {day}.
Aujourd'hui, c'est {day}. | Today is {day}.
Demain, c'est {day}. | Tomorrow is {day}.
Hier, c'était {day}. | Yesterday was {day}.
Après-demain, ce sera {day}. | The day after tomorrow will be {day}.
Quel jour sommes-nous ? {day}. | What day is it today? {day}.
Il vient tous les {day}s. | He comes every {day}.
{verb work} le {day}. | {verb work} on {day}s.
{not work} le {day}. | {not work} on {day}s.
Je suis libre {day} {daytime}. | I'm free on {day} {daytime}.
Que fais-tu {day} ? | What are you doing on {day}?
Qu'est-ce que vous faites {day} {daytime} ? | What are you doing {day} {daytime}?
On se voit {day} ou {otherday} ? | Shall we meet on {day} or {otherday}?
{verb leave} {day} {daytime}. | {verb leave} {day} {daytime}.
{verb arrive} {day} prochain. | {verb arrive} next {day}.
Nous sommes fermés le {day} et le {otherday}. | We are closed on {day}s and {otherday}s.
Ouvert du {day} au {otherday} | Open from {day} to {otherday}
Le marché a lieu le {day} {daytime}. | The market is held on {day} {daytime}s.
La réunion de {day} est reportée à {otherday}. | {day}'s meeting is postponed to {otherday}.
en {month} | in {month}
au mois {ofmonth} | in the month of {month}
début {month} | in early {month}
fin {month} | at the end of {month}
à la mi-{month} | in mid-{month}
en {month} prochain | next {month}
C'est en {month}. | It's in {month}.
Il fait froid en {month}. | It's cold in {month}.
Les vacances commencent en {month}. | The vacation starts in {month}.
{verb leave} en {month}. | {verb leave} in {month}.
{verb get up} tard le {day}. | {verb get up} late on {day}s.
L'école reprend en {month}. | School starts again in {month}.
Il pleut souvent {season}. | It often rains {season}.
{verb go} à {city} {season}. | {verb go} to {city} {season}.
Quel est ton mois préféré ? {month}. | What's your favorite month? {month}.
"""),
    "durations": (8, """
*3 {span} | {span}
*3 il y a {span} | {span} ago
*3 dans {span} | in {span}
*2 pendant {span} | for {span}
*2 depuis {span} | for {span}
Ça prend {span}. | It takes {span}.
Le voyage dure {span}. | The trip takes {span}.
Le film dure {short}. | The movie lasts {short}.
La réunion a duré {short}. | The meeting lasted {short}.
Il a plu pendant {span}. | It rained for {span}.
J'ai attendu {short}. | I waited for {short}.
Attendez {short}, s'il vous plaît. | Wait {short}, please.
Je reviens dans {span}. | I'll be back in {span}.
Je te rappelle dans {short}. | I'll call you back in {short}.
Le train part dans {minutes}. | The train leaves in {minutes}.
Ce sera prêt dans {span}. | It will be ready in {span}.
C'est à {minutes} d'ici à pied. | It's {minutes} from here on foot.
La gare est à {minutes} en voiture. | The station is {minutes} away by car.
Elle est partie il y a {span}. | She left {span} ago.
Il est mort il y a {years}. | He died {years} ago.
Nous nous sommes rencontrés il y a {years}. | We met {years} ago.
Ils se sont mariés il y a {long}. | They got married {long} ago.
*2 J'habite ici depuis {long}. | I've lived here for {long}.
Il travaille ici depuis {long}. | He has worked here for {long}.
Nous nous connaissons depuis {years}. | We've known each other for {years}.
J'apprends {thelanguage} depuis {long}. | I've been learning {language} for {long}.
Elle est malade depuis {long}. | She's been ill for {long}.
J'attends depuis {short}. | I've been waiting for {short}.
Il pleut depuis {span}. | It's been raining for {span}.
Ça fait {short} que je t'attends. | I've been waiting for you for {short}.
Ça fait {long}. | It's been {long}.
Il a vécu à {city} pendant {years}. | He lived in {city} for {years}.
Elle a travaillé à {city} pendant {long}. | She worked in {city} for {long}.
Nous restons {long}. | We're staying for {long}.
Je reste à {city} {long}. | I'm staying in {city} for {long}.
Faites cuire pendant {minutes}. | Cook for {minutes}.
Laissez reposer la pâte {minutes}. | Let the dough rest for {minutes}.
Il faut {short} pour y aller. | It takes {short} to get there.
Il m'a fallu {span} pour finir. | It took me {span} to finish.
Prenez ce médicament {dose} par jour pendant {days}. | Take this medicine {dose} a day for {days}.
La garantie est de {years}. | The guarantee is for {years}.
Le bus passe toutes les {minutes}. | The bus comes every {minutes}.
Il a été condamné à {years} de prison. | He was sentenced to {years} in prison.
{past lost} {span}. | {past lost} {span}.
Combien de temps faut-il pour aller à {city} ? Environ {short}. | How long does it take to get to {city}? About {short}.
"""),
    "ages": (6, """
*4 {verb have} {age}. | {be} {age} years old.
*3 {verb have} {age}. | {be} {age}.
J'ai {age} et j'habite à {city}. | I'm {age} and I live in {city}.
Je m'appelle {first} et j'ai {age}. | My name is {first} and I'm {age} years old.
{turn} {age} {day}. | {turn} {age} on {day}.
{turn} {age} en {month}. | {turn} {age} in {month}.
{verb have} presque {age}. | {be} almost {age}.
{verb have} plus de {grown}. | {be} over {grown}.
{verb have} moins de {grown}. | {be} under {grown}.
{kin} a {age}. | {kin} is {age} years old.
{kin} a {age}. | {kin} is {age}.
{kin} vient d'avoir {age}. | {kin} has just turned {age}.
{kin} aura bientôt {age}. | {kin} will soon be {age}.
Quel âge a {yourkin} ? | How old is {yourkin}?
Quel âge a {first} ? | How old is {first}?
Quel âge as-tu ? J'ai {age}. | How old are you? I'm {age}.
Quel âge avez-vous ? J'ai {grown}. | How old are you? I'm {grown}.
un enfant de {tender} | {tender} child
une petite fille de {tender} | {tender} girl
un garçon de {tender} | {tender} boy
{mykin} a un enfant de {tender}. | {mykin} has {tender} child.
un homme de {grown} | a man of {grown}
une femme de {grown} | a woman of {grown}
Elle fait plus jeune que ses {grown}. | She looks younger than {grown}.
À {grown}, il a changé de métier. | At {grown}, he changed careers.
À l'âge de {grown}, elle a appris à nager. | At the age of {grown}, she learned to swim.
Il est mort à l'âge de {grown}. | He died at the age of {grown}.
interdit aux moins de {grown} | no one under {grown}
{first} a {years} de plus que moi. | {first} is {years} older than me.
{kin} a {years} de moins que moi. | {kin} is {years} younger than me.
"""),
    "prices": (9, """
*2 {littlemoney} | {littlemoney}
{cents} | {cents}
*2 Ça coûte {littlemoney}. | It costs {littlemoney}.
*2 C'est {littlemoney}. | It's {littlemoney}.
Ça fait {littlemoney}. | That's {littlemoney}.
Ça fait {littlemoney}, s'il vous plaît. | That'll be {littlemoney}, please.
*3 {priced} coûte {price}. | {priced} costs {price}.
*2 Combien coûte {priced} ? | How much does {priced} cost?
*2 Combien coûte {priced} ? | How much is {priced}?
Combien ça coûte ? {littlemoney}. | How much does it cost? {littlemoney}.
C'est combien ? {littlemoney}. | How much is it? {littlemoney}.
J'ai payé {price} pour {priced}. | I paid {price} for {priced}.
Je l'ai acheté {littlemoney}. | I bought it for {littlemoney}.
{past spent} {sumofmoney}. | {past spent} {sumofmoney}.
{past paid} {littlemoney}. | {past paid} {littlemoney}.
{past lost} {sumofmoney}. | {past lost} {sumofmoney}.
{past found} {littlemoney}. | {past found} {littlemoney}.
{verb earn} {wage} par mois. | {verb earn} {wage} a month.
{verb have} {sumofmoney}. | {verb have} {sumofmoney}.
Le loyer est de {rent} par mois. | The rent is {rent} a month.
L'entrée coûte {littlemoney}. | Admission is {littlemoney}.
L'entrée est à {littlemoney}. | Admission is {littlemoney}.
Le menu est à {littlemoney}. | The set menu is {littlemoney}.
Les billets coûtent {littlemoney} chacun. | The tickets cost {littlemoney} each.
Pouvez-vous me prêter {littlemoney} ? | Can you lend me {littlemoney}?
Peux-tu me prêter {littlemoney} ? | Can you lend me {littlemoney}?
Tu me dois {littlemoney}. | You owe me {littlemoney}.
Il me doit {sumofmoney}. | He owes me {sumofmoney}.
Elle a donné {sumofmoney} à une association. | She gave {sumofmoney} to a charity.
Les travaux ont coûté {sumofmoney}. | The work cost {sumofmoney}.
{priced} est en solde à {price}. | {priced} is on sale for {price}.
Le prix est monté à {price}. | The price has gone up to {price}.
Voici {littlemoney}. | Here is {littlemoney}.
Je voudrais retirer {sumofmoney}. | I'd like to withdraw {sumofmoney}.
Livraison gratuite à partir de {littlemoney} d'achat | Free delivery on orders over {littlemoney}
{littlemoney} par personne | {littlemoney} per person
{littlemoney} le kilo | {littlemoney} a kilo
{rent} par mois | {rent} per month
C'est trop cher, je n'ai que {littlemoney}. | It's too expensive, I only have {littlemoney}.
"""),
    "measures": (9, """
*2 {distance} | {distance}
{length} | {length}
{weight} | {weight}
{area} | {area}
*2 {degrees} | {degrees}
*2 {amount} | {amount}
*2 {drink} | {drink}
{spoon} | {spoon}
*2 Il fait {degrees}. | It's {degrees}.
Il fait {degrees} dehors. | It's {degrees} outside.
Il faisait {degrees} ce matin. | It was {degrees} this morning.
Demain, il fera {degrees}. | Tomorrow it will be {degrees}.
La température est de {degrees}. | The temperature is {degrees}.
J'ai {fever} de fièvre. | I have a temperature of {fever}.
*2 C'est à {distance} d'ici. | It's {distance} from here.
La gare est à {distance}. | The station is {distance} away.
Nous avons marché {distance}. | We walked {distance}.
Elle court {distance} tous les matins. | She runs {distance} every morning.
{city} est à {distance} {ofothercity}. | {city} is {distance} from {othercity}.
Je mesure {height}. | I'm {height} tall.
{kin} mesure {height}. | {kin} is {height} tall.
{first} mesure {height}. | {first} is {height} tall.
Combien mesures-tu ? {height}. | How tall are you? {height}.
{verb weigh} {weight}. | {verb weigh} {weight}.
Le paquet pèse {weight}. | The package weighs {weight}.
Combien pesez-vous ? {weight}. | How much do you weigh? {weight}.
La planche fait {length} de long. | The board is {length} long.
La rivière fait {metres} de large. | The river is {metres} wide.
Le mur fait {metres} de haut. | The wall is {metres} high.
Le trou a {length} de profondeur. | The hole is {length} deep.
L'appartement fait {area}. | The apartment is {area}.
un studio de {area} | a studio of {area}
La vitesse est limitée à {speed}. | The speed limit is {speed}.
Il roulait à {speed}. | He was driving at {speed}.
Le vent souffle à {speed}. | The wind is blowing at {speed}.
J'ai acheté {amount}. | I bought {amount}.
Je voudrais {amount}, s'il vous plaît. | I'd like {amount}, please.
Achète {amount} et {drink}. | Buy {amount} and {drink}.
Il faut {amount}. | You need {amount}.
Ajoutez {amount}. | Add {amount}.
Ajoutez {spoon}. | Add {spoon}.
Mélangez {amount} et {spoon}. | Mix {amount} and {spoon}.
Elle a bu {drink}. | She drank {drink}.
Je voudrais {drink}. | I'd like {drink}.
Versez {drink}. | Pour in {drink}.
"""),
    "codes": (4, """
*2 {phone} | {phone}
*3 Mon numéro est le {phone}. | My number is {phone}.
Mon numéro de téléphone est le {phone}. | My phone number is {phone}.
Appelez-moi au {phone}. | Call me at {phone}.
Appelle le {phone}. | Call {phone}.
Vous pouvez nous joindre au {phone}. | You can reach us at {phone}.
Tél. : {phone} | Tel.: {phone}
Son numéro est le {phone}. | Her number is {phone}.
Le code est {pin}. | The code is {pin}.
Tapez le {code}. | Dial {code}.
la chambre {code} | room {code}
Ma chambre est la {code}. | My room is {code}.
La réunion a lieu dans la salle {code}. | The meeting is in room {code}.
Prenez le bus {code}. | Take bus {code}.
*2 J'habite au {address}. | I live at {address}.
L'adresse est {address}, à {city}. | The address is {address}, in {city}.
page {code} | page {code}
Ouvrez vos livres à la page {code}. | Open your books to page {code}.
Le train part du quai {digit}. | The train leaves from platform {digit}.
numéro {code} | number {code}
Écrivez-moi à {mail}. | Write to me at {mail}.
Mon adresse électronique est {mail}. | My e-mail address is {mail}.
Envoyez votre candidature à {mail}. | Send your application to {mail}.
"""),
    "spellings": (4, """
*2 {odd} | {odd}
{oddplace} | {oddplace}
{oddword} | {oddword}
{first} {odd} | {first} {odd}
*2 {first} {odd} est né à {oddplace}. | {first} {odd} was born in {oddplace}.
Je m'appelle {odd}. | My name is {odd}.
Je m'appelle {first} {odd}. | My name is {first} {odd}.
J'habite à {oddplace}. | I live in {oddplace}.
{odd} et {first} arrivent à {oddplace}. | {odd} and {first} are arriving in {oddplace}.
Le train pour {oddplace} part à {clock}. | The train to {oddplace} leaves at {clock}.
Connaissez-vous {odd} ? | Do you know {odd}?
Le livre de {odd} est sur la table. | {odd}'s book is on the table.
Mme {odd} dirige l'entreprise depuis {years}. | Ms. {odd} has run the company for {years}.
Le ministre {odd} est arrivé à {oddplace}. | Minister {odd} arrived in {oddplace}.
Il a lu tous les romans de {odd}. | He has read all of {odd}'s novels.
« {oddword} » est écrit sur la porte. | "{oddword}" is written on the door.
Que veut dire « {oddword} » ? | What does "{oddword}" mean?
Comment prononce-t-on « {oddplace} » ? | How do you pronounce "{oddplace}"?
Merci {emoji} | Thank you {emoji}
Bravo {emoji} | Well done {emoji}
Joyeux anniversaire {first} {emoji} | Happy birthday {first} {emoji}
À {day} {emoji} | See you on {day} {emoji}
J'arrive dans {minutes} {emoji} | I'll be there in {minutes} {emoji}
J'adore ça {emoji} | I love it {emoji}
Tu me manques {emoji} | I miss you {emoji}
Bonne nuit {emoji} | Good night {emoji}
C'est génial {emoji} | It's great {emoji}
{emoji} | {emoji}
"""),
    "names": (13, """
*5 Je m'appelle {first}. | My name is {first}.
*3 Je m'appelle {full}. | My name is {full}.
*3 {introduced}. | {introduced}.
Bonjour, je m'appelle {first}. | Hello, my name is {first}.
Bonjour, je m'appelle {full}. | Hello, my name is {full}.
Salut, moi c'est {first}. | Hi, I'm {first}.
Moi, c'est {first}. | I'm {first}.
Je suis {first}. | I'm {first}.
Mon nom est {full}. | My name is {full}.
*2 Il s'appelle {man}. | His name is {man}.
*2 Elle s'appelle {woman}. | Her name is {woman}.
Elle s'appelle {woman} et lui, {man}. | Her name is {woman} and his is {man}.
*2 {kin} s'appelle {kinname}. | {kin}'s name is {kinname}.
{mykin} s'appelle {kinname}. | {mykin}'s name is {kinname}.
Comment s'appelle {yourkin} ? | What's {yourkin}'s name?
Comment t'appelles-tu ? Je m'appelle {first}. | What's your name? My name is {first}.
Comment vous appelez-vous ? {full}. | What's your name? {full}.
Tu t'appelles {first} ? | Is your name {first}?
Vous êtes {sir} ? | Are you {sir}?
C'est {first}. | It's {first}.
C'est {titled} à l'appareil. | This is {titled} speaking.
Puis-je parler à {titled} ? | May I speak to {titled}?
Pourrais-je parler à {titled}, s'il vous plaît ? | Could I speak to {titled}, please?
*2 Bonjour, {sir}. | Hello, {sir}.
Bonsoir, {sir}. | Good evening, {sir}.
Merci, {first} ! | Thank you, {first}!
Merci beaucoup, {sir}. | Thank you very much, {sir}.
Enchanté, {first}. | Nice to meet you, {first}.
Enchantée, je suis {woman}. | Nice to meet you, I'm {woman}.
Ravi de vous rencontrer, {sir}. | Pleased to meet you, {sir}.
J'ai rendez-vous avec le docteur {surname}. | I have an appointment with Dr. {surname}.
Le docteur {surname} est occupé. | Dr. {surname} is busy.
{titled} est absent{mark e} aujourd'hui. | {titled} is out today.
*2 Je vous présente {full}. | This is {full}.
Je te présente {mykin}, {kinname}. | This is {mykin}, {kinname}.
Je vous présente {mykin}, {kinname}. | Let me introduce {mykin}, {kinname}.
Voici {mykin}, {kinname}. | This is {mykin}, {kinname}.
Tu connais {first} ? | Do you know {first}?
Est-ce que vous connaissez {full} ? | Do you know {full}?
Où est {first} ? | Where is {first}?
Qui est {first} ? | Who is {first}?
{first} est là ? | Is {first} there?
Au revoir, {first} ! | Goodbye, {first}!
À demain, {first} ! | See you tomorrow, {first}!
Bonne nuit, {first}. | Good night, {first}.
Joyeux anniversaire, {first} ! | Happy birthday, {first}!
Bienvenue, {first} ! | Welcome, {first}!
Comment vas-tu, {first} ? | How are you, {first}?
Comment allez-vous, {sir} ? | How are you, {sir}?
Ça va, {first} ? | How's it going, {first}?
Cher {man}, | Dear {man},
Chère {woman}, | Dear {woman},
*2 {be} {job}. | {be} {job}.
Je m'appelle {first}, j'ai {grown} et j'habite à {city}. | My name is {first}, I'm {grown} years old and I live in {city}.
Je m'appelle {first} et je viens {fromcountry}. | My name is {first} and I'm from {country}.
Je m'appelle {first} et je viens {ofothercity}. | My name is {first} and I'm from {othercity}.
*2 {kin} est {hisjob}. | {kin} is {hisjob}.
{kin} travaille à {city}. {kinhe} est {hisjob}. | {kin} works in {city}. {kinhe}'s {hisjob}.
Mon nom de famille est {surname}. | My last name is {surname}.
{surname}, ça s'écrit comment ? | How do you spell {surname}?
On m'appelle {first}. | People call me {first}.
Tout le monde m'appelle {first}. | Everyone calls me {first}.
Mon prénom est {first}. | My first name is {first}.
{man} et {woman} se marient {day}. | {man} and {woman} are getting married on {day}.
{woman} a appelé {man} ce matin. | {woman} called {man} this morning.
{man} habite avec {woman} à {city}. | {man} lives with {woman} in {city}.
"""),
    "countries": (10, """
*3 {barecountry} | {barecountry}
{incountry} | in {country}
{fromcountry} | from {country}
{capital} | {capital}
{city} | {city}
*2 {verb live} {incountry}. | {verb live} in {country}.
*2 {verb live} à {city}. | {verb live} in {city}.
{verb work} {incountry}. | {verb work} in {country}.
*2 {verb come} {fromcountry}. | {verb come} from {country}.
*2 {verb come} {fromcountry}. | {be} from {country}.
{verb come} {ofcity}. | {verb come} from {city}.
{verb go} {incountry}. | {be} going to {country}.
{verb go} à {city}. | {be} going to {city}.
{verb love} {country}. | {verb love} {country}.
*4 {be} {national}. | {be} {national}.
{born} {incountry}. | {born} in {country}.
{born} à {city}. | {born} in {city}.
*2 La capitale {ofcountry} est {capital}. | The capital of {country} is {capital}.
Quelle est la capitale {ofcountry} ? | What is the capital of {country}?
{capital} est la capitale {ofcountry}. | {capital} is the capital of {country}.
un film {national m} | a {national m} movie
la cuisine {national f} | {national f} cuisine
une chanson {national f} | a {national f} song
le gouvernement {national m} | the {national m} government
des touristes {national mp} | {national mp} tourists
une entreprise {national f} | a {national f} company
un restaurant {national m} | a {national m} restaurant
{kin} est {kinnational}. | {kin} is {kinnational}.
Êtes-vous {national m} ? | Are you {national m}?
Tu es {national f} ? | Are you {national f}?
Vous êtes {national m} ou {othernational m} ? | Are you {national m} or {othernational m}?
Elle n'est pas {national f}, elle est {othernational f}. | She isn't {national f}, she's {othernational f}.
D'où venez-vous ? Je viens {fromcountry}. | Where are you from? I'm from {country}.
D'où viens-tu ? {fromcountry}. | Where are you from? {country}.
Je suis déjà allé {incountry}. | I've already been to {country}.
Je ne suis jamais allé {incountry}. | I've never been to {country}.
Êtes-vous déjà allé {incountry} ? | Have you ever been to {country}?
Il a grandi {incountry}. | He grew up in {country}.
J'ai des amis {incountry}. | I have friends in {country}.
Nous partons en vacances {incountry}. | We're going on vacation to {country}.
Le ministre {national m} est arrivé à {city}. | The {national m} minister has arrived in {city}.
L'équipe {national f} a gagné. | The {national f} team won.
L'ambassade {ofcountry} se trouve à {city}. | The embassy of {country} is in {city}.
Le train {ofcity} arrive à {clock}. | The train from {city} arrives at {clock}.
un billet pour {city} | a ticket to {city}
Je voudrais un aller-retour pour {city}. | I'd like a round-trip ticket to {city}.
Bienvenue à {city} ! | Welcome to {city}!
"""),
    "languages": (5, """
*2 {language} | {language}
{thelanguage} | {language}
*3 {verb speak} {language}. | {verb speak} {language}.
*2 {not speak} {language}. | {not speak} {language}.
{verb learn} {thelanguage}. | {be} learning {language}.
{verb understand} {thelanguage}. | {verb understand} {language}.
{not understand} {thelanguage}. | {not understand} {language}.
Parlez-vous {language} ? | Do you speak {language}?
Est-ce que vous parlez {language} ? | Do you speak {language}?
Tu parles {language} ? | Do you speak {language}?
Parles-tu {language} ou {otherlanguage} ? | Do you speak {language} or {otherlanguage}?
Je parle un peu {language}. | I speak a little {language}.
Je parle {language} et {otherlanguage}. | I speak {language} and {otherlanguage}.
Il parle couramment {language}. | He speaks {language} fluently.
Elle parle {language} comme sa langue maternelle. | She speaks {language} like her native language.
Comment dit-on cela en {language} ? | How do you say that in {language}?
Comment dit-on « merci » en {language} ? | How do you say "thank you" in {language}?
Traduisez cette phrase en {language}. | Translate this sentence into {language}.
Le livre a été traduit {fromlanguage} en {otherlanguage}. | The book was translated from {language} into {otherlanguage}.
un cours {oflanguage} | a {language} class
un dictionnaire {language}-{otherlanguage} | a {language}-{otherlanguage} dictionary
{theotherlanguage} est plus difficile que {thelanguage}. | {otherlanguage} is harder than {language}.
Ma langue maternelle est {thelanguage}. | My native language is {language}.
{first} enseigne {thelanguage} à {city}. | {first} teaches {language} in {city}.
J'apprends {thelanguage} depuis {long}. | I've been learning {language} for {long}.
Pourquoi apprenez-vous {thelanguage} ? | Why are you learning {language}?
"""),
    "colours": (5, """
*2 {colour m} | {colour m}
{thecolour} | {colour m}
*4 {coloured} | {coloured}
{colouredones} | {colouredones}
C'est {coloured}. | It's {coloured}.
{past bought} {coloured}. | {past bought} {coloured}.
{verb have} {coloured}. | {verb have} {coloured}.
{verb want} {coloured}. | {verb want} {coloured}.
{verb prefer} {thecolour}. | {verb prefer} {colour m}.
Je cherche {coloured}. | I'm looking for {coloured}.
Avez-vous {coloured} ? | Do you have {coloured}?
{mything} est {itscolour}. | {mything} is {itscolour}.
{thisthing} est {itscolour}. | {thisthing} is {itscolour}.
{thething} de {mykin} est {itscolour}. | {mykin}'s {thingname} is {itscolour}.
{mythings} sont {theircolour}. | {mythings} are {theircolour}.
J'aime beaucoup {thisthing} {itscolour}. | I really like this {itscolour} {thingname}.
De quelle couleur est {thisthing} ? | What color is {thisthing}?
De quelle couleur est {thething} ? {itscolour}. | What color is {thething}? {itscolour}.
Ma couleur préférée est {thecolour}. | My favorite color is {colour m}.
Quelle est ta couleur préférée ? {thecolour}. | What's your favorite color? {colour m}.
Je n'aime pas {thecolour}. | I don't like {colour m}.
Il a peint {thething} en {colour m}. | He painted {thething} {colour m}.
Il y avait deux {colouredones}. | There were two {colouredones}.
"""),
}
