const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'xhtml',
  'text/plain': 'txt',
  'text/css': 'css',
  'text/csv': 'csv',
  'text/calendar': 'ics',
  'text/markdown': 'md',
  'text/javascript': 'js',
  'application/javascript': 'js',
  'application/json': 'json',
  'application/ld+json': 'jsonld',
  'text/xml': 'xml',
  'application/xml': 'xml',
  'application/rss+xml': 'rss',
  'application/atom+xml': 'atom',
  'application/wsdl+xml': 'wsdl',
  'application/pdf': 'pdf',
  'application/epub+zip': 'epub',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'application/x-gzip': 'gz',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/svg+xml': 'svg',
  'image/bmp': 'bmp',
  'image/tiff': 'tiff',
  'image/x-icon': 'ico',
  'image/vnd.microsoft.icon': 'ico',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/ogg': 'ogv',
  'video/mpeg': 'mpg',
  'video/quicktime': 'mov',
  'video/x-msvideo': 'avi',
  'font/woff': 'woff',
  'font/woff2': 'woff2',
};

const BY_MEDIA_TYPE = new Map(Object.entries(EXTENSIONS));

/** The file extension for a media type, without dot; `bin` where none is known. */
export function extensionFor(mediaType: string): string {
  const type = mediaType.split(';', 1)[0]!.trim().toLowerCase();
  const known = BY_MEDIA_TYPE.get(type);
  if (known !== undefined) return known;
  if (type.endsWith('+xml')) return 'xml';
  if (type.endsWith('+json')) return 'json';
  return 'bin';
}
