internal import ArgumentParser
internal import HashCapture

/// What is known of the depth of a scene.
struct CaptureDepthOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Depth map of the photo: raw little-endian binary32 in metres, PFM, NPY, or PNG of 16 bits.",
            valueName: "file"
        ),
        completion: .file()
    )
    var depth: String?

    @Option(help: ArgumentHelp("Columns and rows of a raw depth map, for example 256x192.", valueName: "wxh"))
    var depthSize: String?

    @Option(help: ArgumentHelp("Metres per unit of a depth map in PNG, for example 0.001.", valueName: "metres"))
    var depthScale: String?

    @Flag(help: "There is no depth map, and that is meant.")
    var noDepth = false

    @Option(
        help: ArgumentHelp("Depth map of a keyframe of the video; repeat it in their order.", valueName: "file"),
        completion: .file()
    )
    var keyframeDepth: [String] = []

    func validate() throws {
        let given = [depth != nil, noDepth, !keyframeDepth.isEmpty]
        guard given.count(where: { $0 }) <= 1 else {
            throw ValidationError("--depth, --keyframe-depth and --no-depth exclude each other.")
        }
        guard depth != nil || !keyframeDepth.isEmpty || (depthSize == nil && depthScale == nil) else {
            throw ValidationError("--depth-size and --depth-scale describe a depth map: add --depth FILE.")
        }
        guard depth != "", !keyframeDepth.contains("") else { throw ValidationError("An empty path of a depth map.") }
    }

    /// Options that concern one file only, as they are written.
    var ofOneFile: [String] {
        [(depth != nil, "--depth"), (!keyframeDepth.isEmpty, "--keyframe-depth")].filter(\.0).map(\.1)
    }

    /// What was said.
    ///
    /// - Throws: `Diagnosis` for a value that is refused.
    func choice() throws(Diagnosis) -> CaptureRequest.Depth {
        let size = try FlagValue.read(depthSize, "--depth-size", CaptureValue.depthSize)
        let scale = try FlagValue.read(depthScale, "--depth-scale", CaptureValue.depthScale)
        let layout = DepthMapFile.Layout(width: size?.width, height: size?.height, scale: scale)
        if let depth {
            return .map(path: RawArguments.bytes(of: depth), layout: layout)
        }
        guard keyframeDepth.isEmpty else {
            return .keyframes(paths: keyframeDepth.map { RawArguments.bytes(of: $0) }, layout: layout)
        }
        return noDepth ? .declined : .unspecified
    }
}
