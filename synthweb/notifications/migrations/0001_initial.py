import django.db.models.deletion
import synthweb.lib.codes
import synthweb.notifications.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('event', models.CharField(choices=[('run.finished', 'A run of mine has finished'), ('run.failed', 'A run of mine has failed'), ('release.shared', 'A release was shared with me'), ('budget.requested', 'A steward asks for privacy budget'), ('budget.approval_wanted', 'A grant needs a second approval'), ('budget.granted', 'My request for budget was granted'), ('budget.refused', 'My request for budget was refused'), ('budget.expires', 'A grant is about to expire'), ('counts.asked', 'A steward asks for filled counts'), ('counts.decided', 'My request for filled counts was decided'), ('link.changed', 'The other side of a link of mine has acted'), ('webhook.disabled', 'A webhook of mine was switched off'), ('account.sign_ins_failed', 'Somebody fails to sign in under my name'), ('account.changed', 'How I sign in was changed'), ('account.password_reset', 'A link to choose a new password'), ('webhook.test', 'A test of a webhook')], max_length=32)),
                ('key', models.CharField(max_length=100)),
                ('kind', models.CharField(max_length=16)),
                ('subject_code', models.CharField(max_length=16)),
                ('name', models.CharField(max_length=200)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('user', 'event', 'key'), name='notification_once_an_event')],
            },
        ),
        migrations.CreateModel(
            name='Preferences',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('language', models.CharField(default='en', max_length=8)),
                ('muted', models.JSONField(blank=True, default=list)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='notification_preferences', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'preferences',
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(default=synthweb.lib.codes.new, editable=False, max_length=16, unique=True)),
                ('url', models.CharField(max_length=500)),
                ('events', models.JSONField(default=list)),
                ('secret', models.CharField(default=synthweb.notifications.models.new_secret, editable=False, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('failing_since', models.DateTimeField(blank=True, null=True)),
                ('disabled_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['created_at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(choices=[('email', 'E-mail'), ('webhook', 'Webhook')], max_length=8)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Given up'), ('cancelled', 'Cancelled')], default='waiting', max_length=9)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('due_at', models.DateTimeField()),
                ('status', models.PositiveIntegerField(blank=True, null=True)),
                ('problem', models.CharField(blank=True, choices=[('unreachable', 'The server cannot be reached'), ('timeout', 'The server did not answer in time'), ('refused', 'The server refused it'), ('certificate', 'The certificate is not valid for this host'), ('address', 'The host has an address that is not public'), ('gone', 'The person has no access any more, or the webhook is off')], max_length=12)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('notification', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notifications.notification')),
                ('webhook', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notifications.webhook')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['-pk'],
                'indexes': [models.Index(fields=['state', 'due_at'], name='notificatio_state_44b357_idx')],
                'constraints': [models.UniqueConstraint(fields=('notification', 'webhook'), name='delivery_once_a_webhook'), models.UniqueConstraint(condition=models.Q(('channel', 'email')), fields=('notification',), name='delivery_once_by_email'), models.CheckConstraint(condition=models.Q(models.Q(('channel', 'email'), ('webhook', None)), models.Q(('channel', 'webhook'), ('webhook__isnull', False)), _connector='OR'), name='delivery_names_its_webhook')],
            },
        ),
    ]
