import django.db.models.deletion
import synthweb.lib.codes
import synthweb.releases.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('datasets', '0001_initial'),
        ('ledger', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PublicLinkPolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('allowed', models.BooleanField(default=True)),
                ('organisation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='public_link_policy', to='accounts.organisation')),
            ],
            options={
                'verbose_name_plural': 'public link policies',
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('run_code', models.CharField(max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('licence', models.CharField(blank=True, max_length=20)),
                ('licence_text', models.CharField(blank=True, max_length=300)),
                ('licence_address', models.CharField(blank=True, max_length=500)),
                ('mechanism', models.CharField(max_length=64)),
                ('epsilon', models.BigIntegerField()),
                ('delta', models.BigIntegerField(default=0)),
                ('rows', models.BigIntegerField()),
                ('sample_rows', models.BigIntegerField()),
                ('receipt', models.JSONField()),
                ('model', models.JSONField()),
                ('criteria', models.JSONField(blank=True, default=list)),
                ('sample_secret', models.CharField(default=synthweb.releases.models.new_secret, editable=False, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to='ledger.budgetaccount')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to='datasets.dataset')),
                ('domain_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to='datasets.domainversion')),
            ],
        ),
        migrations.CreateModel(
            name='PublicLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('note', models.CharField(blank=True, max_length=200)),
                ('uses', models.PositiveBigIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='public_links', to='releases.release')),
            ],
        ),
        migrations.CreateModel(
            name='PlausibleTables',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=32)),
                ('content', models.BinaryField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='plausible_tables', to='releases.release')),
            ],
            options={
                'verbose_name_plural': 'plausible tables',
            },
        ),
        migrations.CreateModel(
            name='PaidCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('run_code', models.CharField(max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('is_validation', models.BooleanField(default=False)),
                ('epsilon', models.BigIntegerField()),
                ('delta', models.BigIntegerField(default=0)),
                ('receipt', models.JSONField()),
                ('figures', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='paid_checks', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='paid_checks', to='releases.release')),
            ],
        ),
        migrations.CreateModel(
            name='FirstLook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=32)),
                ('columns', models.PositiveIntegerField()),
                ('document', models.JSONField()),
                ('errors', models.JSONField(blank=True, null=True)),
                ('quality', models.JSONField(blank=True, null=True)),
                ('ranges_version', models.CharField(blank=True, max_length=32)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='first_look', to='releases.release')),
            ],
        ),
        migrations.CreateModel(
            name='ExpectedRanges',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=32)),
                ('columns', models.JSONField()),
                ('errors', models.JSONField(null=True)),
                ('errors_pending', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='expected_ranges', to='releases.release')),
            ],
            options={
                'verbose_name_plural': 'expected ranges',
            },
        ),
        migrations.CreateModel(
            name='Edition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('note', models.CharField(max_length=300)),
                ('model', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('after_looking', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='editions', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='editions', to='releases.release')),
            ],
        ),
        migrations.CreateModel(
            name='ReleasedCounts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=32)),
                ('content', models.BinaryField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='released_counts', to='releases.release')),
            ],
            options={
                'verbose_name_plural': 'released counts',
            },
        ),
        migrations.CreateModel(
            name='RepairedTable',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('published', models.CharField(max_length=300)),
                ('totals', models.JSONField()),
                ('way', models.CharField(choices=[('weights', 'A column of weights'), ('rows', 'Rows repeated and left out')], max_length=8)),
                ('rows', models.BigIntegerField()),
                ('receipt', models.JSONField()),
                ('content', models.BinaryField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='repaired_tables', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='repaired_tables', to='releases.release')),
            ],
        ),
        migrations.CreateModel(
            name='Sample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('rows', models.BigIntegerField()),
                ('seed', models.CharField(max_length=64)),
                ('commitment', models.CharField(max_length=64)),
                ('selection', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edition', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='samples', to='releases.edition')),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='samples', to='releases.release')),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='samples', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='CheckMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveIntegerField()),
                ('hash', models.CharField(max_length=64, unique=True)),
                ('document', models.JSONField()),
                ('kind', models.CharField(choices=[('void', 'The figures are void'), ('outside-the-guarantee', 'Exact counts were published')], max_length=32)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='check_marks', to=settings.AUTH_USER_MODEL)),
                ('paid_check', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='releases.paidcheck')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('paid_check', 'sequence'), name='check_mark_sequence'), models.UniqueConstraint(condition=models.Q(('kind', 'void')), fields=('paid_check',), name='check_void_once')],
            },
        ),
        migrations.CreateModel(
            name='PublicLinkUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='days', to='releases.publiclink')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('link', 'day'), name='link_use_once_a_day')],
            },
        ),
        migrations.CreateModel(
            name='ReleaseGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('analyst', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='release_grants', to=settings.AUTH_USER_MODEL)),
                ('granted_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='releases.release')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('revoked_at', None)), fields=('release', 'analyst'), name='grant_once')],
            },
        ),
        migrations.CreateModel(
            name='ReleaseMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveIntegerField()),
                ('hash', models.CharField(max_length=64, unique=True)),
                ('document', models.JSONField()),
                ('kind', models.CharField(choices=[('chosen-after-looking', 'Chosen after looking at real data'), ('edited-description', 'An edited description is kept'), ('outside-the-guarantee', 'Exact counts were published')], max_length=32)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='releases.release')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('release', 'sequence'), name='mark_sequence')],
            },
        ),
    ]
