import django.db.models.deletion
import django.db.models.expressions
import synthweb.lib.codes
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('datasets', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BudgetAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('rule', models.CharField(choices=[('basic', 'Basic: ε and δ add up'), ('zcdp', 'zCDP: ρ adds up')], max_length=8)),
                ('relation', models.CharField(max_length=16)),
                ('max_records', models.PositiveIntegerField(default=1)),
                ('unit_column', models.CharField(blank=True, max_length=200)),
                ('unit_spelling', models.CharField(default='exact', max_length=16)),
                ('identifier_rules', models.PositiveSmallIntegerField(default=1)),
                ('invariants', models.JSONField(blank=True, default=list)),
                ('epsilon_cap', models.BigIntegerField(default=0)),
                ('epsilon_held', models.BigIntegerField(default=0)),
                ('epsilon_charged', models.BigIntegerField(default=0)),
                ('delta_cap', models.BigIntegerField(default=0)),
                ('delta_held', models.BigIntegerField(default=0)),
                ('delta_charged', models.BigIntegerField(default=0)),
                ('rho_cap', models.BigIntegerField(default=0)),
                ('rho_held', models.BigIntegerField(default=0)),
                ('rho_charged', models.BigIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='budget_accounts', to='accounts.organisation')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('epsilon_cap__gte', 0)), name='epsilon_cap_positive'), models.CheckConstraint(condition=models.Q(('epsilon_held__gte', 0)), name='epsilon_held_positive'), models.CheckConstraint(condition=models.Q(('epsilon_charged__gte', 0)), name='epsilon_charged_positive'), models.CheckConstraint(condition=models.Q(('delta_cap__gte', 0)), name='delta_cap_positive'), models.CheckConstraint(condition=models.Q(('delta_held__gte', 0)), name='delta_held_positive'), models.CheckConstraint(condition=models.Q(('delta_charged__gte', 0)), name='delta_charged_positive'), models.CheckConstraint(condition=models.Q(('rho_cap__gte', 0)), name='rho_cap_positive'), models.CheckConstraint(condition=models.Q(('rho_held__gte', 0)), name='rho_held_positive'), models.CheckConstraint(condition=models.Q(('rho_charged__gte', 0)), name='rho_charged_positive'), models.CheckConstraint(condition=models.Q(('epsilon_cap__gte', django.db.models.expressions.CombinedExpression(models.F('epsilon_held'), '+', models.F('epsilon_charged')))), name='epsilon_within_cap'), models.CheckConstraint(condition=models.Q(('delta_cap__gte', django.db.models.expressions.CombinedExpression(models.F('delta_held'), '+', models.F('delta_charged')))), name='delta_within_cap'), models.CheckConstraint(condition=models.Q(('rho_cap__gte', django.db.models.expressions.CombinedExpression(models.F('rho_held'), '+', models.F('rho_charged')))), name='rho_within_cap')],
            },
        ),
        migrations.CreateModel(
            name='BudgetRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('reason', models.TextField()),
                ('rule', models.CharField(choices=[('basic', 'Basic: ε and δ add up'), ('zcdp', 'zCDP: ρ adds up')], max_length=8)),
                ('epsilon', models.BigIntegerField(default=0)),
                ('delta', models.BigIntegerField(default=0)),
                ('rho', models.BigIntegerField(default=0)),
                ('releases', models.PositiveIntegerField(blank=True, null=True)),
                ('rhythm', models.CharField(blank=True, choices=[('once', 'Once'), ('yearly', 'Every year'), ('quarterly', 'Every quarter'), ('monthly', 'Every month')], max_length=9)),
                ('readers', models.CharField(blank=True, choices=[('public', 'Everybody: it will be public'), ('named', 'Named analysts, who agreed to terms'), ('inside', 'People inside the organisation alone')], max_length=6)),
                ('state', models.CharField(choices=[('open', 'Waiting for a custodian'), ('granted', 'Granted'), ('refused', 'Refused')], default='open', max_length=8)),
                ('decision_reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='ledger.budgetaccount')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='budget_requests', to='datasets.dataset')),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('dataset',), name='one_open_request_a_dataset')],
            },
        ),
        migrations.CreateModel(
            name='Coverage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='coverages', to='ledger.budgetaccount')),
                ('dataset', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='coverage', to='datasets.dataset')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Earmark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('purpose', models.CharField(max_length=200)),
                ('use', models.CharField(choices=[('nobody', 'Nobody, until it is freed'), ('project', 'Runs of this project, as far as it goes'), ('release', 'One release; what it leaves is free again'), ('plan', 'Runs of a plan, in one year')], default='nobody', max_length=7)),
                ('year', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('ends_on', models.DateField(blank=True, null=True)),
                ('epsilon', models.BigIntegerField(default=0)),
                ('delta', models.BigIntegerField(default=0)),
                ('rho', models.BigIntegerField(default=0)),
                ('actor', models.CharField(max_length=150)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='earmarks', to='ledger.budgetaccount')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='EarmarkEnd',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor', models.CharField(max_length=150)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('earmark', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='end', to='ledger.earmark')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PublicationPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('remainder', models.CharField(choices=[('free', 'It is free for other runs'), ('next', 'It goes to the next year'), ('lapsed', 'It lapses: nobody can spend it')], max_length=6)),
                ('reason', models.TextField()),
                ('actor', models.CharField(max_length=150)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='publication_plans', to='ledger.budgetaccount')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='PlanRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_year', models.PositiveSmallIntegerField()),
                ('remainder', models.CharField(choices=[('free', 'It is free for other runs'), ('next', 'It goes to the next year'), ('lapsed', 'It lapses: nobody can spend it')], max_length=6)),
                ('actor', models.CharField(max_length=150)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rules', to='ledger.publicationplan')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddField(
            model_name='earmark',
            name='plan',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='shares', to='ledger.publicationplan'),
        ),
        migrations.CreateModel(
            name='BudgetApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('epsilon', models.BigIntegerField(default=0)),
                ('delta', models.BigIntegerField(default=0)),
                ('rho', models.BigIntegerField(default=0)),
                ('lapses_on', models.DateField(blank=True, null=True)),
                ('reason', models.TextField()),
                ('evidence', models.CharField(max_length=64)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.budgetaccount')),
                ('custodian', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='approvals', to='ledger.budgetrequest')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('epsilon__gte', 0), ('delta__gte', 0), ('rho__gte', 0)), name='approval_amounts_positive')],
            },
        ),
        migrations.CreateModel(
            name='EarmarkUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_code', models.CharField(max_length=16, unique=True)),
                ('epsilon', models.BigIntegerField(default=0)),
                ('delta', models.BigIntegerField(default=0)),
                ('rho', models.BigIntegerField(default=0)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('earmark', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='ledger.earmark')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('epsilon__gte', 0), ('delta__gte', 0), ('rho__gte', 0)), name='earmark_use_amounts_positive')],
            },
        ),
        migrations.CreateModel(
            name='GrantPolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('two_above', models.BigIntegerField(blank=True, null=True)),
                ('actor', models.CharField(max_length=150)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grant_policies', to='accounts.organisation')),
            ],
            options={
                'verbose_name_plural': 'grant policies',
                'constraints': [models.CheckConstraint(condition=models.Q(('two_above__gte', 0)), name='policy_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('GRANT', 'Grant'), ('HOLD', 'Hold'), ('CHARGE', 'Charge'), ('RELEASE', 'Release'), ('LAPSE', 'Lapse'), ('OUTSIDE', 'Outside')], max_length=8)),
                ('epsilon', models.BigIntegerField(default=0)),
                ('delta', models.BigIntegerField(default=0)),
                ('rho', models.BigIntegerField(default=0)),
                ('dataset_code', models.CharField(blank=True, max_length=16)),
                ('run_code', models.CharField(blank=True, max_length=16)),
                ('actor', models.CharField(max_length=150)),
                ('reason', models.TextField(blank=True)),
                ('evidence', models.CharField(blank=True, max_length=64)),
                ('lapses_on', models.DateField(blank=True, null=True)),
                ('at', models.DateTimeField()),
                ('previous_hash', models.CharField(max_length=64)),
                ('hash', models.CharField(max_length=64)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='ledger.budgetaccount')),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'ordering': ['account', 'sequence'],
                'constraints': [models.UniqueConstraint(fields=('account', 'sequence'), name='entry_sequence'), models.UniqueConstraint(fields=('hash',), name='entry_hash'), models.UniqueConstraint(condition=models.Q(('run_code', ''), _negated=True), fields=('run_code', 'kind'), name='entry_once_a_run'), models.UniqueConstraint(condition=models.Q(('kind__in', ['CHARGE', 'RELEASE'])), fields=('run_code',), name='one_resolution_a_run'), models.CheckConstraint(condition=models.Q(('epsilon__gte', 0), ('delta__gte', 0), ('rho__gte', 0)), name='entry_amounts_positive'), models.CheckConstraint(condition=models.Q(('kind__in', ['GRANT', 'LAPSE']), models.Q(('run_code', ''), _negated=True), _connector='OR'), name='entry_names_its_run'), models.CheckConstraint(condition=models.Q(('lapses_on', None), ('kind', 'GRANT'), _connector='OR'), name='only_grants_lapse'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'LAPSE'), _negated=True), models.Q(('evidence', ''), _negated=True), _connector='OR'), name='lapse_names_its_grant'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'OUTSIDE'), _negated=True), models.Q(('delta', 0), ('epsilon', 0), ('rho', 0)), _connector='OR'), name='outside_has_no_amount')],
            },
        ),
        migrations.AddConstraint(
            model_name='earmark',
            constraint=models.CheckConstraint(condition=models.Q(('epsilon__gte', 0), ('delta__gte', 0), ('rho__gte', 0)), name='earmark_amounts_positive'),
        ),
        migrations.AddConstraint(
            model_name='earmark',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ends_on', None), ('plan__isnull', False), ('use', 'plan'), ('year__isnull', False)), models.Q(models.Q(('use', 'plan'), _negated=True), ('plan', None), ('year', None)), _connector='OR'), name='share_names_plan_and_year'),
        ),
        migrations.CreateModel(
            name='YearlyLimit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('most', models.BigIntegerField(blank=True, null=True)),
                ('actor', models.CharField(max_length=150)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='yearly_limits', to='ledger.budgetaccount')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('most__gte', 0)), name='yearly_limit_not_negative')],
            },
        ),
    ]
