# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The words that fill the frames: tables whose columns are separated by bars."""


def rows(text):
    lines = text.strip().splitlines()
    return [tuple(column.strip() for column in line.split("|")) for line in lines]


# The country in French without its article; its kind: f, m, v (begins with a vowel sound), p
# (plural), c (a name without an article) or h (Haïti); the country in English; the French
# adjective, masculine and feminine; the English adjective; the capital in French and English.
COUNTRIES = rows("""
France | f | France | français | française | French | Paris | Paris
Belgique | f | Belgium | belge | belge | Belgian | Bruxelles | Brussels
Suisse | f | Switzerland | suisse | suisse | Swiss | Berne | Bern
Allemagne | v | Germany | allemand | allemande | German | Berlin | Berlin
Autriche | v | Austria | autrichien | autrichienne | Austrian | Vienne | Vienna
Italie | v | Italy | italien | italienne | Italian | Rome | Rome
Espagne | v | Spain | espagnol | espagnole | Spanish | Madrid | Madrid
Portugal | m | Portugal | portugais | portugaise | Portuguese | Lisbonne | Lisbon
Irlande | v | Ireland | irlandais | irlandaise | Irish | Dublin | Dublin
Royaume-Uni | m | the United Kingdom | britannique | britannique | British | Londres | London
Angleterre | v | England | anglais | anglaise | English | Londres | London
Écosse | v | Scotland | écossais | écossaise | Scottish | Édimbourg | Edinburgh
pays de Galles | m | Wales | gallois | galloise | Welsh | Cardiff | Cardiff
Pays-Bas | p | the Netherlands | néerlandais | néerlandaise | Dutch | Amsterdam | Amsterdam
Luxembourg | m | Luxembourg | luxembourgeois | luxembourgeoise | Luxembourgish | Luxembourg | Luxembourg
Danemark | m | Denmark | danois | danoise | Danish | Copenhague | Copenhagen
Norvège | f | Norway | norvégien | norvégienne | Norwegian | Oslo | Oslo
Suède | f | Sweden | suédois | suédoise | Swedish | Stockholm | Stockholm
Finlande | f | Finland | finlandais | finlandaise | Finnish | Helsinki | Helsinki
Islande | v | Iceland | islandais | islandaise | Icelandic | Reykjavik | Reykjavik
Pologne | f | Poland | polonais | polonaise | Polish | Varsovie | Warsaw
Hongrie | f | Hungary | hongrois | hongroise | Hungarian | Budapest | Budapest
Roumanie | f | Romania | roumain | roumaine | Romanian | Bucarest | Bucharest
Bulgarie | f | Bulgaria | bulgare | bulgare | Bulgarian | Sofia | Sofia
Grèce | f | Greece | grec | grecque | Greek | Athènes | Athens
Croatie | f | Croatia | croate | croate | Croatian | Zagreb | Zagreb
Serbie | f | Serbia | serbe | serbe | Serbian | Belgrade | Belgrade
Slovaquie | f | Slovakia | slovaque | slovaque | Slovak | Bratislava | Bratislava
Slovénie | f | Slovenia | slovène | slovène | Slovenian | Ljubljana | Ljubljana
Ukraine | v | Ukraine | ukrainien | ukrainienne | Ukrainian | Kiev | Kyiv
Russie | f | Russia | russe | russe | Russian | Moscou | Moscow
Turquie | f | Turkey | turc | turque | Turkish | Ankara | Ankara
Albanie | v | Albania | albanais | albanaise | Albanian | Tirana | Tirana
Estonie | v | Estonia | estonien | estonienne | Estonian | Tallinn | Tallinn
Lettonie | f | Latvia | letton | lettonne | Latvian | Riga | Riga
Lituanie | f | Lithuania | lituanien | lituanienne | Lithuanian | Vilnius | Vilnius
Malte | c | Malta | maltais | maltaise | Maltese | La Valette | Valletta
Chypre | c | Cyprus | chypriote | chypriote | Cypriot | Nicosie | Nicosia
États-Unis | p | the United States | américain | américaine | American | Washington | Washington
Canada | m | Canada | canadien | canadienne | Canadian | Ottawa | Ottawa
Mexique | m | Mexico | mexicain | mexicaine | Mexican | Mexico | Mexico City
Cuba | c | Cuba | cubain | cubaine | Cuban | La Havane | Havana
Haïti | h | Haiti | haïtien | haïtienne | Haitian | Port-au-Prince | Port-au-Prince
Jamaïque | f | Jamaica | jamaïcain | jamaïcaine | Jamaican | Kingston | Kingston
Colombie | f | Colombia | colombien | colombienne | Colombian | Bogota | Bogotá
Venezuela | m | Venezuela | vénézuélien | vénézuélienne | Venezuelan | Caracas | Caracas
Brésil | m | Brazil | brésilien | brésilienne | Brazilian | Brasilia | Brasília
Argentine | v | Argentina | argentin | argentine | Argentinian | Buenos Aires | Buenos Aires
Chili | m | Chile | chilien | chilienne | Chilean | Santiago | Santiago
Pérou | m | Peru | péruvien | péruvienne | Peruvian | Lima | Lima
Uruguay | v | Uruguay | uruguayen | uruguayenne | Uruguayan | Montevideo | Montevideo
Maroc | m | Morocco | marocain | marocaine | Moroccan | Rabat | Rabat
Algérie | v | Algeria | algérien | algérienne | Algerian | Alger | Algiers
Tunisie | f | Tunisia | tunisien | tunisienne | Tunisian | Tunis | Tunis
Égypte | v | Egypt | égyptien | égyptienne | Egyptian | Le Caire | Cairo
Sénégal | m | Senegal | sénégalais | sénégalaise | Senegalese | Dakar | Dakar
Mali | m | Mali | malien | malienne | Malian | Bamako | Bamako
Niger | m | Niger | nigérien | nigérienne | Nigerien | Niamey | Niamey
Nigeria | m | Nigeria | nigérian | nigériane | Nigerian | Abuja | Abuja
Cameroun | m | Cameroon | camerounais | camerounaise | Cameroonian | Yaoundé | Yaoundé
Côte d'Ivoire | f | the Ivory Coast | ivoirien | ivoirienne | Ivorian | Yamoussoukro | Yamoussoukro
Ghana | m | Ghana | ghanéen | ghanéenne | Ghanaian | Accra | Accra
Kenya | m | Kenya | kényan | kényane | Kenyan | Nairobi | Nairobi
Éthiopie | v | Ethiopia | éthiopien | éthiopienne | Ethiopian | Addis-Abeba | Addis Ababa
Madagascar | c | Madagascar | malgache | malgache | Malagasy | Antananarivo | Antananarivo
Rwanda | m | Rwanda | rwandais | rwandaise | Rwandan | Kigali | Kigali
Afrique du Sud | v | South Africa | sud-africain | sud-africaine | South African | Pretoria | Pretoria
Liban | m | Lebanon | libanais | libanaise | Lebanese | Beyrouth | Beirut
Syrie | f | Syria | syrien | syrienne | Syrian | Damas | Damascus
Jordanie | f | Jordan | jordanien | jordanienne | Jordanian | Amman | Amman
Iran | v | Iran | iranien | iranienne | Iranian | Téhéran | Tehran
Irak | v | Iraq | irakien | irakienne | Iraqi | Bagdad | Baghdad
Arabie saoudite | v | Saudi Arabia | saoudien | saoudienne | Saudi | Riyad | Riyadh
Inde | v | India | indien | indienne | Indian | New Delhi | New Delhi
Pakistan | m | Pakistan | pakistanais | pakistanaise | Pakistani | Islamabad | Islamabad
Afghanistan | v | Afghanistan | afghan | afghane | Afghan | Kaboul | Kabul
Népal | m | Nepal | népalais | népalaise | Nepalese | Katmandou | Kathmandu
Chine | f | China | chinois | chinoise | Chinese | Pékin | Beijing
Japon | m | Japan | japonais | japonaise | Japanese | Tokyo | Tokyo
Corée du Sud | f | South Korea | sud-coréen | sud-coréenne | South Korean | Séoul | Seoul
Mongolie | f | Mongolia | mongol | mongole | Mongolian | Oulan-Bator | Ulaanbaatar
Viêt Nam | m | Vietnam | vietnamien | vietnamienne | Vietnamese | Hanoï | Hanoi
Thaïlande | f | Thailand | thaïlandais | thaïlandaise | Thai | Bangkok | Bangkok
Cambodge | m | Cambodia | cambodgien | cambodgienne | Cambodian | Phnom Penh | Phnom Penh
Indonésie | v | Indonesia | indonésien | indonésienne | Indonesian | Jakarta | Jakarta
Malaisie | f | Malaysia | malaisien | malaisienne | Malaysian | Kuala Lumpur | Kuala Lumpur
Philippines | p | the Philippines | philippin | philippine | Filipino | Manille | Manila
Singapour | c | Singapore | singapourien | singapourienne | Singaporean | Singapour | Singapore
Australie | v | Australia | australien | australienne | Australian | Canberra | Canberra
""")

LANGUAGES = rows("""
français | French
anglais | English
allemand | German
italien | Italian
espagnol | Spanish
portugais | Portuguese
néerlandais | Dutch
danois | Danish
norvégien | Norwegian
suédois | Swedish
finnois | Finnish
islandais | Icelandic
polonais | Polish
hongrois | Hungarian
tchèque | Czech
roumain | Romanian
bulgare | Bulgarian
grec | Greek
croate | Croatian
serbe | Serbian
ukrainien | Ukrainian
russe | Russian
turc | Turkish
arabe | Arabic
hébreu | Hebrew
persan | Persian
hindi | Hindi
bengali | Bengali
ourdou | Urdu
chinois | Chinese
japonais | Japanese
coréen | Korean
vietnamien | Vietnamese
thaï | Thai
indonésien | Indonesian
swahili | Swahili
wolof | Wolof
catalan | Catalan
basque | Basque
breton | Breton
gallois | Welsh
latin | Latin
""")

CITIES = rows("""
Paris | Paris
Lyon | Lyon
Marseille | Marseille
Toulouse | Toulouse
Bordeaux | Bordeaux
Lille | Lille
Nantes | Nantes
Strasbourg | Strasbourg
Nice | Nice
Rennes | Rennes
Grenoble | Grenoble
Bruxelles | Brussels
Liège | Liège
Anvers | Antwerp
Genève | Geneva
Lausanne | Lausanne
Zurich | Zurich
Bâle | Basel
Montréal | Montreal
Québec | Quebec City
Toronto | Toronto
Vancouver | Vancouver
Londres | London
Manchester | Manchester
Édimbourg | Edinburgh
Dublin | Dublin
Berlin | Berlin
Munich | Munich
Cologne | Cologne
Hambourg | Hamburg
Francfort | Frankfurt
Vienne | Vienna
Rome | Rome
Milan | Milan
Venise | Venice
Naples | Naples
Florence | Florence
Madrid | Madrid
Barcelone | Barcelona
Séville | Seville
Valence | Valencia
Lisbonne | Lisbon
Porto | Porto
Amsterdam | Amsterdam
Copenhague | Copenhagen
Stockholm | Stockholm
Oslo | Oslo
Varsovie | Warsaw
Cracovie | Krakow
Prague | Prague
Budapest | Budapest
Bucarest | Bucharest
Athènes | Athens
Istanbul | Istanbul
Moscou | Moscow
Saint-Pétersbourg | Saint Petersburg
Kiev | Kyiv
New York | New York
Boston | Boston
Chicago | Chicago
San Francisco | San Francisco
Los Angeles | Los Angeles
Mexico | Mexico City
Rio de Janeiro | Rio de Janeiro
Buenos Aires | Buenos Aires
Lima | Lima
Casablanca | Casablanca
Rabat | Rabat
Alger | Algiers
Oran | Oran
Tunis | Tunis
Dakar | Dakar
Abidjan | Abidjan
Bamako | Bamako
Nairobi | Nairobi
Johannesburg | Johannesburg
Beyrouth | Beirut
Jérusalem | Jerusalem
Dubaï | Dubai
Mumbai | Mumbai
Pékin | Beijing
Shanghai | Shanghai
Séoul | Seoul
Tokyo | Tokyo
Kyoto | Kyoto
Bangkok | Bangkok
Hanoï | Hanoi
Singapour | Singapore
Sydney | Sydney
Melbourne | Melbourne
""")

MEN = """
    Paul Pierre Jean Luc Marc Hugo Louis Antoine Thomas Nicolas Julien Mathieu Léo Gabriel Adam
    Youssef Mohamed Karim Ibrahim Mamadou Ousmane Kofi David Daniel James William Peter Jack
    Oliver Henry Tom Liam Carlos Diego Pablo Marco Luca Hans Lukas Jonas Erik Ivan Piotr Mehmet
    Ali Omar Samir Raj Arjun Kenji Hiroshi Wei Minh François Jérôme Cédric Benoît Étienne Rémi
    Loïc Sébastien Tomasz Nikos Ahmed
""".split()
WOMEN = """
    Marie Julie Sophie Claire Camille Léa Emma Chloé Manon Sarah Inès Jeanne Louise Alice Anne
    Isabelle Nathalie Sylvie Françoise Hélène Margaux Élise Zoé Fatima Aïcha Leïla Yasmine
    Amina Awa Aminata Emily Kate Lucy Grace Olivia Charlotte Jane Mary Anna Maria Carmen Lucia
    Giulia Francesca Ingrid Greta Olga Irina Agnieszka Zeynep Priya Anjali Yuki Keiko Mei Linh
    Valérie Noémie Solène Amélie Céline Elena
""".split()
SURNAMES = """
    Martin Bernard Dubois Moreau Laurent Lefèvre Girard Fournier Lambert Bonnet Rousseau
    Vincent Faure Mercier Lemaire Gauthier Perrin Morin Dupont Durand Petit Garnier Chevalier
    Benali Haddad Diallo Traoré Ndiaye Koné Mensah Smith Jones Brown Wilson Taylor Clark Walker
    Murphy O'Connor Garcia Lopez Fernandez Silva Costa Rossi Ricci Müller Schmidt Weber Jansen
    Larsen Nilsson Nowak Popescu Novak Horvath Yilmaz Demir Cohen Levy Khan Patel Singh Sharma
    Tanaka Suzuki Kim Park Chen Wang Nguyen Tran
""".split()

# Professions, as they follow "est": masculine, feminine; English.
JOBS = rows("""
médecin | médecin | a doctor
infirmier | infirmière | a nurse
professeur | professeure | a teacher
étudiant | étudiante | a student
ingénieur | ingénieure | an engineer
avocat | avocate | a lawyer
cuisinier | cuisinière | a cook
boulanger | boulangère | a baker
serveur | serveuse | a waiter/a waitress
vendeur | vendeuse | a salesman/a saleswoman
journaliste | journaliste | a journalist
musicien | musicienne | a musician
chanteur | chanteuse | a singer
acteur | actrice | an actor/an actress
écrivain | écrivaine | a writer
comptable | comptable | an accountant
mécanicien | mécanicienne | a mechanic
dentiste | dentiste | a dentist
pharmacien | pharmacienne | a pharmacist
architecte | architecte | an architect
agriculteur | agricultrice | a farmer
facteur | factrice | a mail carrier
policier | policière | a police officer
pompier | pompière | a firefighter
pilote | pilote | a pilot
coiffeur | coiffeuse | a hairdresser
informaticien | informaticienne | a computer scientist
traducteur | traductrice | a translator
photographe | photographe | a photographer
vétérinaire | vétérinaire | a vet
électricien | électricienne | an electrician
plombier | plombière | a plumber
secrétaire | secrétaire | a secretary
caissier | caissière | a cashier
chercheur | chercheuse | a researcher
""")

# French singular, plural, gender; English singular, plural.
GOODS = rows("""
chemise | chemises | f | shirt | shirts
livre | livres | m | book | books
chaise | chaises | f | chair | chairs
table | tables | f | table | tables
bouteille | bouteilles | f | bottle | bottles
verre | verres | m | glass | glasses
assiette | assiettes | f | plate | plates
cuillère | cuillères | f | spoon | spoons
fourchette | fourchettes | f | fork | forks
couteau | couteaux | m | knife | knives
stylo | stylos | m | pen | pens
crayon | crayons | m | pencil | pencils
cahier | cahiers | m | notebook | notebooks
enveloppe | enveloppes | f | envelope | envelopes
timbre | timbres | m | stamp | stamps
billet | billets | m | ticket | tickets
journal | journaux | m | newspaper | newspapers
tableau | tableaux | m | painting | paintings
cadeau | cadeaux | m | gift | gifts
gâteau | gâteaux | m | cake | cakes
œuf | œufs | m | egg | eggs
pomme | pommes | f | apple | apples
orange | oranges | f | orange | oranges
citron | citrons | m | lemon | lemons
tomate | tomates | f | tomato | tomatoes
oignon | oignons | m | onion | onions
carotte | carottes | f | carrot | carrots
sandwich | sandwichs | m | sandwich | sandwiches
photo | photos | f | photo | photos
lampe | lampes | f | lamp | lamps
boîte | boîtes | f | box | boxes
sac | sacs | m | bag | bags
valise | valises | f | suitcase | suitcases
clé | clés | f | key | keys
ampoule | ampoules | f | light bulb | light bulbs
serviette | serviettes | f | towel | towels
couverture | couvertures | f | blanket | blankets
bougie | bougies | f | candle | candles
vis | vis | f | screw | screws
clou | clous | m | nail | nails
bijou | bijoux | m | jewel | jewels
jouet | jouets | m | toy | toys
ordinateur | ordinateurs | m | computer | computers
vélo | vélos | m | bicycle | bicycles
roman | romans | m | novel | novels
carte postale | cartes postales | f | postcard | postcards
pile | piles | f | battery | batteries
tasse | tasses | f | cup | cups
croissant | croissants | m | croissant | croissants
baguette | baguettes | f | baguette | baguettes
""")
BEINGS = rows("""
personne | personnes | f | person | people
enfant | enfants | m | child | children
étudiant | étudiants | m | student | students
élève | élèves | m | pupil | pupils
femme | femmes | f | woman | women
homme | hommes | m | man | men
fille | filles | f | girl | girls
garçon | garçons | m | boy | boys
touriste | touristes | m | tourist | tourists
invité | invités | m | guest | guests
passager | passagers | m | passenger | passengers
joueur | joueurs | m | player | players
soldat | soldats | m | soldier | soldiers
patient | patients | m | patient | patients
client | clients | m | customer | customers
employé | employés | m | employee | employees
ouvrier | ouvriers | m | worker | workers
bénévole | bénévoles | m | volunteer | volunteers
cheval | chevaux | m | horse | horses
vache | vaches | f | cow | cows
mouton | moutons | m | sheep | sheep
chat | chats | m | cat | cats
chien | chiens | m | dog | dogs
oiseau | oiseaux | m | bird | birds
poule | poules | f | hen | hens
souris | souris | f | mouse | mice
""")
PLACES = rows("""
la salle | the room
le jardin | the garden
la cuisine | the kitchen
la cour | the courtyard
le bureau | the office
l'entrée | the entrance hall
la boutique | the shop
l'école | the school
le hall | the lobby
la rue | the street
le train | the train
l'hôtel | the hotel
""")
KIN = rows("""
fils | m | son
fille | f | daughter
frère | m | brother
sœur | f | sister
père | m | father
mère | f | mother
grand-père | m | grandfather
grand-mère | f | grandmother
oncle | m | uncle
tante | f | aunt
cousin | m | cousin
cousine | f | cousin
neveu | m | nephew
nièce | f | niece
voisin | m | neighbor
voisine | f | neighbor
mari | m | husband
femme | f | wife
patron | m | boss
collègue | m | colleague
ami | m | friend
amie | f | friend
""")

# Things with a price: in French with "ce" or "cette" and without it, the gender, in English with
# "this", and roughly what they cost.
PRICED = rows("""
cette chemise | chemise | f | shirt | 30
cette robe | robe | f | dress | 60
ce manteau | manteau | m | coat | 120
ce livre | livre | m | book | 15
ce vélo | vélo | m | bicycle | 350
cette voiture | voiture | f | car | 12000
cette montre | montre | f | watch | 150
ce téléphone | téléphone | m | phone | 400
cet ordinateur | ordinateur | m | computer | 800
ce billet | billet | m | ticket | 40
ce gâteau | gâteau | m | cake | 18
cette bouteille | bouteille | f | bottle | 9
cette lampe | lampe | f | lamp | 45
cette table | table | f | table | 200
ce canapé | canapé | m | sofa | 700
ce tableau | tableau | m | painting | 900
cette bague | bague | f | ring | 500
cet appareil photo | appareil photo | m | camera | 450
ce parapluie | parapluie | m | umbrella | 20
ce jouet | jouet | m | toy | 25
cette chambre | chambre | f | room | 90
cet appartement | appartement | m | apartment | 150000
cette maison | maison | f | house | 250000
cette veste | veste | f | jacket | 80
ce sac | sac | m | bag | 55
""")

# Masculine, feminine, the plural of each; English. The noun is the masculine form.
COLOURS = rows("""
rouge | rouge | rouges | rouges | red
bleu | bleue | bleus | bleues | blue
vert | verte | verts | vertes | green
jaune | jaune | jaunes | jaunes | yellow
noir | noire | noirs | noires | black
blanc | blanche | blancs | blanches | white
gris | grise | gris | grises | gray
rose | rose | roses | roses | pink
violet | violette | violets | violettes | purple
marron | marron | marron | marron | brown
orange | orange | orange | orange | orange
beige | beige | beiges | beiges | beige
doré | dorée | dorés | dorées | golden
turquoise | turquoise | turquoise | turquoise | turquoise
bleu clair | bleu clair | bleu clair | bleu clair | light blue
bleu foncé | bleu foncé | bleu foncé | bleu foncé | dark blue
bleu marine | bleu marine | bleu marine | bleu marine | navy blue
vert clair | vert clair | vert clair | vert clair | light green
vert foncé | vert foncé | vert foncé | vert foncé | dark green
rouge foncé | rouge foncé | rouge foncé | rouge foncé | dark red
gris clair | gris clair | gris clair | gris clair | light gray
""")
COLOURED = rows("""
robe | robes | f | dress | dresses
chemise | chemises | f | shirt | shirts
voiture | voitures | f | car | cars
maison | maisons | f | house | houses
porte | portes | f | door | doors
chapeau | chapeaux | m | hat | hats
manteau | manteaux | m | coat | coats
stylo | stylos | m | pen | pens
sac | sacs | m | bag | bags
vélo | vélos | m | bicycle | bicycles
fleur | fleurs | f | flower | flowers
écharpe | écharpes | f | scarf | scarves
jupe | jupes | f | skirt | skirts
cravate | cravates | f | tie | ties
rideau | rideaux | m | curtain | curtains
fauteuil | fauteuils | m | armchair | armchairs
parapluie | parapluies | m | umbrella | umbrellas
ballon | ballons | m | ball | balls
bateau | bateaux | m | boat | boats
tapis | tapis | m | rug | rugs
tasse | tasses | f | cup | cups
enveloppe | enveloppes | f | envelope | envelopes
pull | pulls | m | sweater | sweaters
valise | valises | f | suitcase | suitcases
""")

# Names and words with letters, scripts and signs that neither language has: they are only copied.
ODD_NAMES = """
    Łukasz Dvořák Jiří Šárka Zdeněk Søren Åsa Bjørn Þórunn Güneş Özgür Çelik Ştefan Țepeș Nguyễn
    Đặng Kovačić Ljubiša Nuñez João Gonçalves Sigurður Õnne Žižka Čapek Świątek Wałęsa Kieślowski
    Erdoğan Yıldız Petőfi Ångström Kierkegård Brâncuși Dragoș Živković Ibárruri Háček Māori
""".split()
ODD_PLACES = """
    Łódź Kraków Wrocław Gdańsk Plzeň Brno-Líšeň České-Budějovice Győr Pécs Malmö Tromsø Århus
    Reykjavík İzmir Diyarbakır Iași Brașov Timișoara Šibenik Niš Čačak Ķegums Rēzekne Šiauliai
    Võru Jyväskylä Ærø Þingvellir São-Paulo Asunción Đà-Nẵng Huế Tórshavn Kızılay
""".split()
ODD_WORDS = """
    東京 北京 大阪 中国 日本 こんにちは ありがとう 서울 안녕 한국 Москва Київ привет спасибо Россия Αθήνα
    καλημέρα Ελλάδα القاهرة مرحبا شكرا ירושלים שלום नमस्ते दिल्ली ไทย สวัสดี বাংলা தமிழ் საქართველო Հայաստան
""".split()
# Parts of invented names: first letters, letters that may be between vowels, and vowels.
ODD_ONSETS = "B Č D Ď F G Ğ H J K Ķ L Ł M N Ň Ņ P R Ř S Š Ś T Ť V W Z Ž Ź Þ Ð Ñ Ç Ş".split()
ODD_MIDDLES = "b č ć d ď đ ð g ğ h j k ķ l ł ľ m n ň ń ñ p r ř s š ś ş ș t ť ț v w z ž ź ż þ ç".split()
ODD_VOWELS = "a á à â ä å ã ā ă ą e é è ě ę ē i í ı ī o ó ö ő ø õ u ú ü ű ů ū y ý æ".split()
EMOJI = "😀 😂 😊 😉 😍 😢 😭 😡 👍 👏 🙏 🎉 🎂 🔥 ✨ 💪 🚀 🌍 🌞 🐱 🐶 🍕 ⚽ 🎵".split()

DAYS = rows("""
lundi | Monday
mardi | Tuesday
mercredi | Wednesday
jeudi | Thursday
vendredi | Friday
samedi | Saturday
dimanche | Sunday
""")
MONTHS = rows("""
janvier | January
février | February
mars | March
avril | April
mai | May
juin | June
juillet | July
août | August
septembre | September
octobre | October
novembre | November
décembre | December
""")
