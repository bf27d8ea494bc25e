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
            name='CityBuild',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('lease_token', models.PositiveIntegerField(default=0)),
                ('lease_held', models.BooleanField(default=False)),
                ('lease_seconds', models.FloatField(default=60)),
                ('heartbeats', models.PositiveBigIntegerField(default=0)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('stage', models.CharField(blank=True, max_length=32)),
                ('progress', models.FloatField(default=0.0)),
                ('failure', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(max_length=200)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('waiting', 'Being generated'), ('finished', 'Generated'), ('failed', 'Failed')], default='draft', max_length=12)),
                ('specification', models.TextField()),
                ('areas', models.BinaryField()),
                ('descriptions', models.JSONField(blank=True, default=dict)),
                ('releases', models.JSONField(blank=True, default=dict)),
                ('seed', models.CharField(max_length=64)),
                ('receipt', models.JSONField(blank=True, null=True)),
                ('changes', models.JSONField(blank=True, null=True)),
                ('archive', models.BinaryField(blank=True, null=True)),
                ('database', models.BinaryField(blank=True, null=True)),
                ('before', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='grown', to='cities.citybuild')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cities', to=settings.AUTH_USER_MODEL)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cities', to='accounts.organisation')),
            ],
            options={
                'indexes': [models.Index(fields=['state', 'lease_held'], name='cities_city_state_8e01bd_idx')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', 'finished'), _negated=True), models.Q(('archive__isnull', False), ('database__isnull', False), ('receipt__isnull', False)), _connector='OR'), name='generated_city_has_files')],
            },
        ),
        migrations.CreateModel(
            name='CityExport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('form', models.CharField(choices=[('matsim', 'MATSim'), ('populationsim', 'PopulationSim')], max_length=16)),
                ('content', models.BinaryField()),
                ('city', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to='cities.citybuild')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('city', 'form'), name='one_export_of_a_form')],
            },
        ),
    ]
