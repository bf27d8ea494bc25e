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
            name='ReferenceTable',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('published', models.CharField(max_length=1000)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='references', to='accounts.organisation')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('organisation', 'name'), name='reference_table_name')],
            },
        ),
        migrations.CreateModel(
            name='ReferenceVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=16)),
                ('roles', models.JSONField()),
                ('content', models.BinaryField()),
                ('code_count', models.PositiveIntegerField()),
                ('partitions', models.JSONField()),
                ('advice', models.CharField(blank=True, max_length=300)),
                ('sha256', models.CharField(max_length=64)),
                ('content_key', models.CharField(db_index=True, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('reference', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='references.referencetable')),
                ('uploaded_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['reference', '-number'],
                'constraints': [models.UniqueConstraint(fields=('reference', 'number'), name='reference_version_number')],
            },
        ),
    ]
