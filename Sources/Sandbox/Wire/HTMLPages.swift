/// The HTML pages of the real server, as recorded.
enum HTMLPages {
    /// The page behind every 401, whoever was refused and why (gighive contract 1).
    static let unauthorized = """
        <!doctype html>
        <html lang="en">
        <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <title>Unauthorized</title>
        </head>
        <body>
          <h1>Unauthorized</h1>
          <p>Authentication is required to access this resource.</p>
        </body>
        </html>

        """

    /// Apache's own page for an error that never reached the application.
    static func apacheError(_ status: Int, reason: String) -> String {
        """
        <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
        <html><head>
        <title>\(status) \(reason)</title>
        </head><body>
        <h1>\(reason)</h1>
        <p>\(explanation(status))</p>
        </body></html>

        """
    }

    /// The page an upload is answered with when the client accepts HTML (gighive contract 2.3).
    static func uploadResult(_ json: JSONValue, succeeded: Bool) -> String {
        let details = escaped(PHPJSONEncoder(pretty: true).encode(json))
        let title = succeeded ? "Upload Success" : "Upload Failed"
        let heading = succeeded ? "Upload completed" : "Upload failed"
        var link = ""
        if case .object(let object) = json, case .int(let id)? = object["id"] {
            link = "\n<p><a href=\"/db/database.php?view=event#media-\(id)\">Go to database</a></p>"
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>body{font-family:system-ui,Arial,sans-serif;margin:20px;} \
            pre{background:#f7f7f7;padding:12px;overflow:auto;} .status{font-weight:700;color:#0a0;}</style>
            </head>
            <body>
            <h1 class="status">\(heading)</h1>\(link)
            <details><summary>Response details</summary><pre>\(details)</pre></details>
            </body>
            </html>
            """
    }

    /// What PHP's `htmlspecialchars` makes of a text.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#039;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static func explanation(_ status: Int) -> String {
        switch status {
        case 400: "Your browser sent a request that this server could not understand."
        case 404: "The requested URL was not found on this server."
        case 408: "Server timeout waiting for the HTTP request from the client."
        case 413:
            "The requested resource does not allow request data with the requested method,"
                + "\nor the amount of data provided in the request exceeds the capacity limit."
        case 415: "The supplied request data is not in a format\nacceptable for processing by this resource."
        case 502: "The proxy server received an invalid\nresponse from an upstream server."
        case 503:
            "The server is temporarily unable to service your\nrequest due to maintenance downtime or capacity"
                + "\nproblems. Please try again later."
        case 504: "The gateway did not receive a timely response\nfrom the upstream server or application."
        default: "The server could not complete your request."
        }
    }
}
