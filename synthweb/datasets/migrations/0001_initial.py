import django.db.models.deletion
import synthweb.lib.codes
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('status', models.CharField(choices=[('uploaded', 'Waiting to be read'), ('ready', 'Ready'), ('refused', 'Refused'), ('deleted', 'Deleted')], default='uploaded', max_length=16)),
                ('refusal', models.JSONField(blank=True, null=True)),
                ('refusal_line', models.PositiveBigIntegerField(blank=True, null=True)),
                ('table_number', models.PositiveIntegerField(default=1)),
                ('vault_name', models.CharField(max_length=64, unique=True)),
                ('file_kind', models.CharField(max_length=16)),
                ('dialect', models.JSONField(blank=True, null=True)),
                ('size_bytes', models.BigIntegerField()),
                ('content_key', models.CharField(db_index=True, max_length=64)),
                ('draft', models.JSONField(blank=True, default=dict)),
                ('stated_records', models.PositiveBigIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('table_until', models.DateField(blank=True, null=True)),
                ('answers_until', models.DateField(blank=True, null=True)),
                ('releases_until', models.DateField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='accounts.organisation')),
                ('steward', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='DraftFacts',
            fields=[
                ('dataset', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='draft_facts', serialize=False, to='datasets.dataset')),
                ('facts', models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='DomainVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('document', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('confirmed_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='domain_versions', to='datasets.dataset')),
            ],
            options={
                'ordering': ['dataset', '-number'],
                'constraints': [models.UniqueConstraint(fields=('dataset', 'number'), name='domain_version_number')],
            },
        ),
        migrations.CreateModel(
            name='DomainBasis',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('statements', models.JSONField(default=list)),
                ('suggestions_shown', models.BooleanField(default=False)),
                ('facts', models.PositiveIntegerField(default=0)),
                ('facts_as_suggested', models.PositiveIntegerField(blank=True, null=True)),
                ('equal_facts', models.JSONField(default=dict)),
                ('after_looking', models.BooleanField(default=False)),
                ('ranges_after_looking', models.JSONField(default=list)),
                ('reader', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('version', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='basis', to='datasets.domainversion')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='LearnedDescription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_code', models.CharField(max_length=16, unique=True)),
                ('learned', models.JSONField()),
                ('receipt', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='purchases', to='datasets.dataset')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='purchases', to='datasets.domainversion')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='TableVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('vault_name', models.CharField(max_length=64, unique=True)),
                ('file_kind', models.CharField(max_length=16)),
                ('size_bytes', models.BigIntegerField()),
                ('content_key', models.CharField(db_index=True, max_length=64)),
                ('dialect', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('erased_at', models.DateTimeField(blank=True, null=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tables', to='datasets.dataset')),
                ('uploaded_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['dataset', '-number'],
                'constraints': [models.UniqueConstraint(fields=('dataset', 'number'), name='table_version_number')],
            },
        ),
        migrations.CreateModel(
            name='DatabaseTable',
            fields=[
                ('dataset', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='database_table', serialize=False, to='datasets.dataset')),
                ('facts', models.JSONField(default=dict)),
                ('constraints', models.JSONField(blank=True, default=list)),
                ('lookups', models.JSONField(blank=True, default=list)),
                ('root', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='database_tables', to='datasets.dataset')),
            ],
            options={
                'ordering': ['root', 'dataset'],
            },
        ),
        migrations.CreateModel(
            name='DatabaseVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('document', models.JSONField()),
                ('datasets', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('confirmed_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('root', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='database_versions', to='datasets.dataset')),
            ],
            options={
                'ordering': ['root', '-number'],
                'constraints': [models.UniqueConstraint(fields=('root', 'number'), name='database_version_number')],
            },
        ),
        migrations.CreateModel(
            name='DescriptionTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='description_templates', to='accounts.organisation')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='templates', to='datasets.domainversion')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('organisation', 'name'), name='description_template_name')],
            },
        ),
        migrations.CreateModel(
            name='LearnedMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveIntegerField()),
                ('hash', models.CharField(max_length=64, unique=True)),
                ('document', models.JSONField()),
                ('kind', models.CharField(choices=[('outside-the-guarantee', 'Exact counts were published')], max_length=32)),
                ('learned', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='datasets.learneddescription')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('learned', 'sequence'), name='learned_mark_sequence')],
            },
        ),
        migrations.CreateModel(
            name='PartialUpload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('file_kind', models.CharField(max_length=16)),
                ('length', models.BigIntegerField()),
                ('state', models.CharField(choices=[('open', 'Unfinished'), ('stored', 'Stored'), ('ended', 'Ended')], default='open', max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('dataset', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='datasets.dataset')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='partial_uploads', to='accounts.organisation')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='partial_uploads', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'indexes': [models.Index(fields=['person', 'state'], name='datasets_pa_person__77db28_idx')],
            },
        ),
        migrations.CreateModel(
            name='Preview',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('kind', models.CharField(choices=[('table', 'Preview and suggestions'), ('report', 'Comparison with real data'), ('columns', 'Names of the columns'), ('keys', 'Check of the keys')], max_length=16)),
                ('subject', models.CharField(blank=True, max_length=32)),
                ('store_name', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='previews', to='datasets.dataset')),
            ],
            options={
                'indexes': [models.Index(fields=['dataset', 'kind', 'subject'], name='datasets_pr_dataset_728f0a_idx')],
            },
        ),
        migrations.CreateModel(
            name='RunTable',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_code', models.CharField(db_index=True, max_length=16)),
                ('rules', models.JSONField(default=dict)),
                ('table', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='datasets.tableversion')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run_code', 'table'), name='run_table_once')],
            },
        ),
    ]
