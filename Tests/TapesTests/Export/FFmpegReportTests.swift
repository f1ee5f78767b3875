import Synchronization
import Testing

@testable import Tapes

/// The output of ffmpeg and ffprobe.
@Suite struct FFmpegReportTests {
    @Test func outputMayBeSplitAnywhere() {
        let scripted = Mutex<[Int]>([])
        let report = FFmpegReport { frames in scripted.withLock { $0.append(frames) } }
        for piece in [
            "fra", "me=1\nfps=0.00\nout_time_us=N/A\nprogress=cont", "inue\nframe=", "30\n",
            "frame=30\nout_time_us=1000000\nframe=4",
        ] {
            report.read(Array(piece.utf8)[...])
        }
        #expect(scripted.withLock { $0 } == [1, 30])
        #expect(report.figures == FFmpegReport.Figures(frames: 30, microseconds: 1_000_000))
    }

    struct Case: CustomTestStringConvertible {
        var name: String
        var json: String
        var hasVideo = true
        var hasSound = false
        var milliseconds: Int64?
        var videoMilliseconds: Int64?
        var frameRate: ClipMedia.FrameRate?

        var testDescription: String { name }
    }

    @Test(
        arguments: [
            Case(
                name: "video and sound",
                json: """
                    {"programs":[],"streams":[{"codec_type":"audio","duration":"0.500000","disposition":{"attached_pic":0}},
                    {"codec_type":"video","duration":"4.999600","r_frame_rate":"30000/1001","avg_frame_rate":"2997/100",
                    "disposition":{"attached_pic":0}}],
                    "format":{"duration":"5.000000"}}
                    """,
                hasSound: true,
                milliseconds: 5000,
                videoMilliseconds: 5000,
                frameRate: .init(30_000, 1001)
            ),
            // A variable rate has only an average: 90,000 is the rate of the timestamps.
            Case(
                name: "a timestamp rate is not a frame rate",
                json: #"{"streams":[{"codec_type":"video","r_frame_rate":"90000/1","avg_frame_rate":"24/1"}]}"#,
                frameRate: .init(24)
            ),
            Case(
                name: "invalid rates",
                json: #"{"streams":[{"codec_type":"video","r_frame_rate":"0/0","avg_frame_rate":"x/1"}]}"#
            ),
            Case(
                name: "a cover is not a video stream",
                json:
                    #"{"streams":[{"codec_type":"audio"},{"codec_type":"video","disposition":{"attached_pic":1}}],"format":{}}"#,
                hasVideo: false,
                hasSound: true
            ),
            Case(
                name: "only the video stream has a length",
                json: #"{"streams":[{"codec_type":"video","duration":"1.5"}]}"#,
                milliseconds: 1500,
                videoMilliseconds: 1500
            ),
            Case(
                name: "no stream has a length",
                json: #"{"streams":[{"codec_type":"video","duration":"N/A"}],"format":{"duration":"-1"}}"#
            ),
            Case(name: "no streams", json: "{}", hasVideo: false),
        ]
    )
    func probes(_ example: Case) throws {
        let probe = try #require(MediaProbe(Array(example.json.utf8)))
        #expect(probe.hasVideo == example.hasVideo)
        #expect(probe.hasSound == example.hasSound)
        #expect(probe.milliseconds == example.milliseconds)
        #expect(probe.videoMilliseconds == example.videoMilliseconds)
        #expect(probe.frameRate == example.frameRate)
    }

    @Test func anInvalidResponseIsRejected() {
        #expect(MediaProbe([]) == nil)
        #expect(MediaProbe(Array("[]".utf8)) == nil)
    }
}
