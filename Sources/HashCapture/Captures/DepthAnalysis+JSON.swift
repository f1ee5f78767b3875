internal import CaptureSubmission
internal import MediaCore
internal import MediaTransport

extension DepthAnalysis {
    /// As records keep it.
    var json: String {
        "{\"status\":\(JSONText.quoted(status.rawValue)),\"depth_variance\":\(depthVariance),"
            + "\"depth_layers\":\(depthLayers),\"edge_coherence\":\(edgeCoherence),\"min_depth\":\(minDepth),"
            + "\"max_depth\":\(maxDepth),\"is_likely_real_scene\":\(isLikelyRealScene),"
            + "\"algorithm_version\":\(JSONText.quoted(Self.algorithmVersion))}"
    }

    /// Reads what a record keeps; nil for anything else.
    init?(json: String) {
        // A record always says the status, which a body for the reference server cannot.
        guard let members = JSONValue.object(in: Array(json.utf8)[...]), members["status"] != nil else { return nil }
        self.init(reading: members)
    }
}
