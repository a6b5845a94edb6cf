// An Express application with weir_express.mjs: node express_app.mjs PORT FOLDER
import express from 'express';

const [port, folder] = process.argv.slice(2);
const { askWeir } = await import(`${folder}/weir_express.mjs`);

const app = express();
app.use((req, _, next) => {
  if (req.get('X-User')) req.user = { id: req.get('X-User') };
  next();
});
app.use(askWeir);
app.get('/hello', (_, res) => res.type('text').send('hello'));
app.get('/healthz', (_, res) => res.type('text').send('well'));
app.post('/login', (_, res) => res.type('text').send('login'));
app.listen(Number(port), '127.0.0.1');
