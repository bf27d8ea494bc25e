import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveBigIntegerField(unique=True)),
                ('at', models.DateTimeField()),
                ('actor', models.CharField(max_length=150)),
                ('organisation_code', models.CharField(blank=True, db_index=True, max_length=16)),
                ('action', models.CharField(max_length=64)),
                ('object_kind', models.CharField(blank=True, max_length=32)),
                ('object_code', models.CharField(blank=True, db_index=True, max_length=32)),
                ('detail', models.JSONField(default=dict)),
                ('previous_hash', models.CharField(max_length=64)),
                ('hash', models.CharField(max_length=64, unique=True)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'ordering': ['-sequence'],
            },
        ),
        migrations.CreateModel(
            name='ChainHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=32, unique=True)),
                ('sequence', models.PositiveBigIntegerField(default=0)),
                ('hash', models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='LogVisit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveBigIntegerField()),
                ('at', models.DateTimeField()),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='log_visit', to=settings.AUTH_USER_MODEL)),
            ],
        ),
    ]
