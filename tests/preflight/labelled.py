"""Questions with the kind of advice they call for; an empty kind means that they are clear as they are."""

from __future__ import annotations

CLEAR = """
How many times does PaymentAdapter retry a failed charge?
How does OrderService connect to PaymentGateway?
What patterns do other teams use for customer tables?
Find code similar to this error handling pattern
What is the capital of France?
Who wrote The Brothers Karamazov?
What is the latest version of PostgreSQL?
Who is the current president of Brazil?
When was the Eiffel Tower built?
How do I configure TLS between Envoy and a gRPC server?
Does vitamin D supplementation reduce the risk of fractures in adults?
0-dimensional biomaterials show inductive properties.
What similarity laws must be obeyed when constructing aeroelastic models of heated high speed aircraft?
What is the difference between TCP and UDP?
Compare Kafka and RabbitMQ for event sourcing
Is it true that honey never spoils?
How long does it take to boil an egg?
Why does a service mesh add latency when it encrypts traffic?
What did Marie Curie discover and win the Nobel Prize for?
Which countries border Germany and France?
python list comprehension with two conditions
java.lang.NullPointerException in HashMap.get
OrderService
ECONNREFUSED 127.0.0.1:5432
session lifetime of the checkout cookie
How do transformers use attention to weigh tokens?
What causes the seasons on Earth?
Explain how a B-tree splits a full node
What are the side effects of ibuprofen in children?
List the projects that use the outbox pattern
What films did Christopher Nolan direct between 2000 and 2010?
What happened in the stock market on 19 October 1987?
Which papers on CRISPR were published since 2022?
How has the population of Tokyo changed since 1950?
Was Mercury visited by MESSENGER in 2011?
apple pie recipe without butter
Who founded Apple in 1976?
Is rust memory safe without a garbage collector?
What is the boiling point of mercury in kelvin?
How to install Ruby 3.3 on Ubuntu 24.04
What is the airspeed of an unladen swallow?
How does checkout reserve stock when two orders race?
Why did the label outage of 2026-06-11 happen?
What does the retry policy say about idempotency keys?
Where are feature flags stored in the platform project?
What is the meaning of HTTP status 409?
Which service owns the orders table?
How are secrets rotated in the payments project?
Research and development spending in Germany in 2019
Rock and roll hall of fame inductees 1995
Is there a link between smoking and lung cancer?
Who is the author of Dune?
What is 15% of 240?
How do you pronounce Nietzsche?
Write a regular expression that matches ISO dates
What is the role of p53 in apoptosis?
the movies that share actors with the movie Inception were in which languages
Who directed the movies written by Ethan Coen?
How do plants make food from sunlight?
What is the syntax of a SQL window function?
How fast does light travel in glass?
What is the GDP of Japan in 2023?
Give me three examples of idempotent HTTP methods
Which enzyme breaks down lactose?
Why do cats purr?
What is the best way to store passwords in Postgres?
Can I use asyncio with multiprocessing?
What happens when a TCP connection is reset?
Is there any evidence that fish oil lowers blood pressure?
Describe the lifecycle of a star like the Sun
Who played the Joker in The Dark Knight?
what's the time complexity of quicksort in the worst case
How do I undo the last git commit but keep my changes?
In which year did the Berlin Wall fall?
the impact of sleep deprivation on memory consolidation
kubectl rollout restart deployment
How does a vaccine train the immune system so that it recognises a virus?
What are the differences between SQL and NoSQL databases?
Does the checkout service call the inventory service directly?
Where can I buy tickets for the Louvre?
What did the 2025-07-09 double charge incident cost?
Show the schema of the orders table
Who is responsible for the billing service?
How are invoices and receipts numbered?
When does the library in Oxford open and close?
Which teams own Kafka topics?
What is the tallest mountain in Africa?
How to cook rice and beans together
How many people live in Turkey?
spring boot actuator endpoints list
How does spring water form?
rust borrow checker error E0502
What is photosynthesis?
What do bees eat in winter?
Are there any new restaurants in Lisbon?
Does new legislation in the EU regulate AI models?
How did Rome fall?
What is its melting point if a metal alloy contains 40% tin?
The committee said that it would review the plan
List all employees who joined after 2020
""".strip().splitlines()

ADVISED = [
    ("How does it work?", "disambiguate"),
    ("Why is it so slow?", "disambiguate"),
    ("What did he say about inflation?", "disambiguate"),
    ("Does it support Kafka?", "disambiguate"),
    ("How do I fix this?", "disambiguate"),
    ("Why is this failing?", "disambiguate"),
    ("What does that mean?", "disambiguate"),
    ("Where are they stored?", "disambiguate"),
    ("What is her latest album?", "disambiguate"),
    ("Why is the service down?", "disambiguate"),
    ("Who owns the table?", "disambiguate"),
    ("When was the company founded?", "disambiguate"),
    ("How do I restart the server?", "disambiguate"),
    ("python", "disambiguate"),
    ("Mercury", "disambiguate"),
    ("jaguar speed", "disambiguate"),
    ("What is Java?", "disambiguate"),
    ("history of amazon", "disambiguate"),
    ("kubernetes", "refine"),
    ("databases", "refine"),
    ("Einstein", "refine"),
    ("Tell me everything about quantum computing", "refine"),
    ("everything you know about World War II", "refine"),
    ("I want to know all about photosynthesis", "refine"),
    ("tell me about machine learning", "refine"),
    ("information about diabetes", "refine"),
    ("What is Docker and how does it work?", "decompose"),
    ("What is a mutex? How does it differ from a semaphore?", "decompose"),
    ("Who discovered penicillin and when was it first used?", "decompose"),
    ("How does OrderService retry, and what does PaymentGateway do on a time-out?", "decompose"),
    ("Explain the CAP theorem and compare it with PACELC", "decompose"),
    ("Where is the config stored and how do I change it?", "decompose"),
    ("What causes migraines, how are they treated, and which drugs help?", "decompose"),
    ("Show me what idempotency keys are and how they expire", "decompose"),
    ("What are the latest advances in battery technology?", "constrain"),
    ("recent research on intermittent fasting", "constrain"),
    ("What's new in cancer immunotherapy?", "constrain"),
    ("How has remote work changed?", "constrain"),
    ("trends in electric vehicle sales", "constrain"),
    ("latest news about the European Central Bank", "constrain"),
    ("Experts say coffee prevents Alzheimer's", "constrain"),
    ("Studies show that red wine is good for the heart", "constrain"),
    ("Is Twitter reportedly shutting down its API?", "constrain"),
    ("Why was jane.doe@example.com locked out?", "sanitize"),
    ("Refund card 4111 1111 1111 1111 please", "sanitize"),
    ("What do we know about the customer with SSN 536-22-8726?", "sanitize"),
    ("Why does the API refuse sk-proj-abcdefghijklmnop1234567890?", "sanitize"),
    ("Who called from +49 30 901820 about the invoice?", "sanitize"),
    ("Block traffic from 203.0.113.77 at the gateway", "sanitize"),
    ("What's wrong with it?", "disambiguate"),
    ("Can they do that?", "disambiguate"),
    ("Is he still alive?", "disambiguate"),
    ("How old is she?", "disambiguate"),
    ("When will this be fixed?", "disambiguate"),
    ("What does the function do?", "disambiguate"),
    ("Where is the file?", "disambiguate"),
    ("Why did the build fail?", "disambiguate"),
    ("rust", "disambiguate"),
    ("What is Mercury?", "disambiguate"),
    ("tell me about turkey", "disambiguate"),
    ("security", "refine"),
    ("blockchain?", "refine"),
    ("Explain everything about the French Revolution", "refine"),
    ("give me all the information about black holes", "refine"),
    ("I'd like to learn about sailing", "refine"),
    ("How does DNS work and why is it sometimes slow?", "decompose"),
    ("What is OAuth, how does it differ from SAML and which should I use?", "decompose"),
    ("Who founded SpaceX? What rockets has it built? How much do they cost?", "decompose"),
    ("List the lanes and explain how each one fails", "decompose"),
    ("When did Apollo 11 land and who was on board?", "decompose"),
    ("What are recent developments in solid state batteries?", "constrain"),
    ("current trends in fashion", "constrain"),
    ("What have researchers lately found about dark matter?", "constrain"),
    ("How has inflation evolved?", "constrain"),
    ("newest papers on diffusion models", "constrain"),
    ("Scientists claim that chocolate makes you smarter", "constrain"),
    ("I heard that Mars had oceans", "constrain"),
    ("my email is max@firma.de, why can't I log in", "sanitize"),
    ("IBAN DE89370400440532013000 was charged twice", "sanitize"),
    ("password=Sup3rS3cret! does not work on staging", "sanitize"),
    ("call 415-555-0199 and ask about the order", "sanitize"),
]
