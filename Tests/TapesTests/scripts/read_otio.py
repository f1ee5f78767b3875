"""Loads a timeline with OpenTimelineIO, walks it, writes it again, and prints its content as JSON."""

import json
import sys

import opentimelineio as otio


def milliseconds(time):
    return None if time is None else time.rescaled_to(1000).value


def span(range_):
    return None if range_ is None else [milliseconds(range_.start_time), milliseconds(range_.duration)]


def frames(range_):
    if range_ is None:
        return None
    assert range_.start_time.rate == range_.duration.rate
    return [range_.duration.rate, range_.start_time.value, range_.duration.value]


def child(item, track):
    if isinstance(item, otio.schema.Gap):
        return {"type": "gap", "source_range": span(item.source_range), "frames": frames(item.source_range)}
    if isinstance(item, otio.schema.Transition):
        return {
            "type": "transition",
            "transition_type": item.transition_type,
            "offsets": [milliseconds(item.in_offset), milliseconds(item.out_offset)],
            "metadata": json.loads(otio.core.serialize_json_to_string(item.metadata))["mediactl"],
        }
    reference = item.media_reference
    return {
        "type": "clip",
        "name": item.name,
        "source_range": span(item.source_range),
        "available_range": span(reference.available_range),
        "frames": frames(item.source_range),
        "available_frames": frames(reference.available_range),
        "url": None if reference.is_missing_reference else reference.target_url,
        "metadata": json.loads(otio.core.serialize_json_to_string(item.metadata))["mediactl"],
    }


timeline = otio.adapters.read_from_file(sys.argv[1])
again = otio.adapters.read_from_string(otio.adapters.write_to_string(timeline, "otio_json"), "otio_json")
(track,) = timeline.video_tracks()
sounds = timeline.audio_tracks()
assert len(sounds) <= 1 and len(timeline.tracks) == 1 + len(sounds)
assert isinstance(timeline, otio.schema.Timeline) and isinstance(timeline.tracks, otio.schema.Stack)
is_known = all(item.source_range for item in track.find_clips())
if is_known:
    for one in timeline.tracks:
        # Computed by OpenTimelineIO: neighbors, and the media beyond the cuts.
        for item in one:
            if isinstance(item, otio.schema.Transition):
                before, after = one.neighbors_of(item)
                assert before.visible_range().end_time_exclusive() <= before.available_range().end_time_exclusive()
                assert after.visible_range().start_time >= after.available_range().start_time
            elif isinstance(item, otio.schema.Clip):
                assert item.source_range.start_time >= item.available_range().start_time
                assert item.source_range.end_time_exclusive() <= item.available_range().end_time_exclusive()
print(
    json.dumps(
        {
            "name": timeline.name,
            "same_again": timeline.is_equivalent_to(again),
            "duration": milliseconds(track.duration()) if is_known else None,
            "children": [child(item, track) for item in track],
            "sound": [child(item, one) for one in sounds for item in one],
            "sound_duration": milliseconds(sounds[0].duration()) if is_known and sounds else None,
        }
    )
)
